"""Commands that follow a job outlast a server that starts again."""

import asyncio
import sys

import pytest

from api.front import front
from cli.running import environment
from curtsy.clock import Clock
from curtsy.store import Store
from support.engine import engine, until
from support.wire import wire

LONG = 60


@pytest.mark.parametrize("command", [("logs", "-f"), ("watch",), ("status", "--wait")], ids=str)
async def test_who_follows_a_job_waits_for_a_server_that_starts_again(
    sqlite_url: str, command: tuple[str, ...]
) -> None:
    async with (
        Store(sqlite_url) as store,
        front(store, engine(store, Clock())) as door,
        wire(door.url) as line,
    ):
        job = (await door.submit("http://a.invalid/")).json["id"]
        following = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "curtsy", *command, job, "--url", line.url, "--json",
            env=environment(), stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip

        async def is_answered() -> bool:
            return line.answers > 3

        async def has_come_in_vain() -> bool:
            return line.refused > 3 or following.returncode is not None

        try:
            await until(is_answered, LONG, lambda: "it asks nothing")
            line.is_down = True
            line.cut()
            await until(has_come_in_vain, LONG, lambda: "it does not come back")
            line.is_down = False
            await door.backend.cancel(job)
            async with asyncio.timeout(LONG):
                out, err = await following.communicate()
        finally:
            if following.returncode is None:
                following.kill()
        assert following.returncode == (4 if "--wait" in command else 0), err
        assert b"ancelled" in out
