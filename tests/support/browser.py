"""A headless Chromium for tests, controlled through its debugging protocol."""

import asyncio
import itertools
import json
import shutil
import subprocess
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from websockets.asyncio.client import ClientConnection, connect

from support.programs import chromium

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--remote-debugging-port=0",
)  # fmt: skip
START_SECONDS = 30


class Browser:
    def __init__(self, page: ClientConnection) -> None:
        self._page = page
        self._numbers = itertools.count(1)

    async def go(self, url: str) -> None:
        await self._call("Page.enable")
        await self._call("Page.navigate", url=url)
        while await self.run("document.readyState") != "complete":
            await asyncio.sleep(0.05)

    async def run(self, script: str) -> Any:
        """Returns the value of the script, or of its promise."""
        reply = await self._call(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True
        )
        if "exceptionDetails" in reply:
            raise AssertionError(reply["exceptionDetails"])
        return reply["result"].get("value")

    async def _call(self, method: str, **params: Any) -> Any:
        number = next(self._numbers)
        await self._page.send(json.dumps({"id": number, "method": method, "params": params}))
        while True:
            reply = json.loads(await self._page.recv())
            if reply.get("id") == number:
                if "error" in reply:
                    raise AssertionError(reply["error"])
                return reply["result"]


@asynccontextmanager
async def browser() -> AsyncIterator[Browser]:
    path = chromium()
    assert path is not None
    profile = Path(tempfile.mkdtemp(prefix="curtsy-chromium-"))
    process = subprocess.Popen(  # noqa: ASYNC220
        [path, *FLAGS, f"--user-data-dir={profile}", "about:blank"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        async with asyncio.timeout(START_SECONDS):
            address = await _debugging_address(profile)
        async with connect(address, max_size=2**24) as page:
            yield Browser(page)
    finally:
        process.kill()
        process.wait()
        shutil.rmtree(profile, ignore_errors=True)


async def _debugging_address(profile: Path) -> str:
    port_file = profile / "DevToolsActivePort"
    while not port_file.exists() or not port_file.read_text().strip():
        await asyncio.sleep(0.05)
    port = int(port_file.read_text().split()[0])
    while True:
        tabs = await asyncio.to_thread(_tabs, port)
        for tab in tabs:
            if tab["type"] == "page":
                return str(tab["webSocketDebuggerUrl"])
        await asyncio.sleep(0.05)


def _tabs(port: int) -> Any:
    with urlopen(f"http://127.0.0.1:{port}/json/list", timeout=5) as answer:
        return json.load(answer)
