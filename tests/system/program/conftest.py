"""Programs of other people that import curtsy: scripts in processes of their own."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from api.conftest import Site, site  # noqa: F401
from support.patience import PATIENCE

STORY = b"<html><title>A story</title><body><article>" + b"<p>Once upon a time. </p>" * 20
HTML = "text/html"
LOOPBACK = 'allow_addresses="127.0.0.0/8", min_delay_seconds=0.05, retry_base=0.1'
"""Keywords that let a program fetch from the test's own server."""


@dataclass
class Said:
    status: int | None
    out: str
    err: str

    @property
    def json(self) -> Any:
        """What the program printed last, as JSON."""
        return json.loads(self.out.splitlines()[-1])


class Program:
    """A script that runs; it is ended with the test."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process

    async def says(self, line: str) -> None:
        """Waits until the program prints this line."""
        assert self.process.stdout is not None
        async with asyncio.timeout(PATIENCE):
            while (found := await self.process.stdout.readline()).strip() != line.encode():
                assert found, (await self.ended()).err

    async def ended(self) -> Said:
        async with asyncio.timeout(PATIENCE):
            out, err = await self.process.communicate()
        return Said(self.process.returncode, out.decode(), err.decode())


@dataclass
class Programs:
    folder: Path

    @asynccontextmanager
    async def start(self, text: str, *urls: str, piped: bool = False) -> AsyncIterator[Program]:
        """Runs a script of that text in its own folder; `piped`: as `python -`."""
        file = self.folder / "program.py"
        file.write_text(text.replace("LOOPBACK", LOOPBACK))
        pipe = asyncio.subprocess.PIPE
        environment = {k: v for k, v in os.environ.items() if not k.startswith("CURTSY_")}
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-W", "error", "-" if piped else str(file), *urls, cwd=self.folder,
            env=environment, stdin=pipe, stdout=pipe, stderr=pipe,
        )  # fmt: skip
        assert process.stdin is not None
        process.stdin.write(file.read_bytes() if piped else b"")
        process.stdin.close()
        try:
            yield Program(process)
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()

    async def run(self, text: str, *urls: str, piped: bool = False) -> Said:
        """Runs it to its end, which must be good and quiet."""
        async with self.start(text, *urls, piped=piped) as program:
            said = await program.ended()
        assert (said.status, said.err) == (0, ""), said.err
        return said


@pytest.fixture
def programs(tmp_path: Path) -> Programs:
    return Programs(tmp_path)


@pytest.fixture
def stories(site: Site) -> Callable[[int], list[str]]:  # noqa: F811
    """Makes so many pages, and returns their URLs."""
    site.pages["/robots.txt"] = 404
    return lambda number: [site.has(f"/{n}", STORY, HTML) for n in range(number)]
