"""A program that is stopped, or ends, in the midst of what it asked the client for."""

import asyncio
import signal
import sys
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from api.conftest import Site
from api.front import Front
from client.test_client import HTML, STORY, in_thread
from curtsy import Client
from support.engine import until
from support.patience import PATIENCE

PROGRAM = """
import sys
from curtsy import Client

client = Client(sys.argv[1])
job = client.submit(["http://a.invalid/", "http://b.invalid/"])
"""
FOLLOWS = """
try:
    for told in client.events():
        print(told)
except KeyboardInterrupt:
    client.close()
    print("stopped")
"""
WAITS = """
try:
    job.wait(progress=lambda status: print(status, flush=True))
except KeyboardInterrupt:
    client.close()
    print("stopped")
"""


async def started(door: Front, program: str) -> asyncio.subprocess.Process:
    pipe = asyncio.subprocess.PIPE
    command = (sys.executable, "-W", "always", "-c", PROGRAM + program, door.url)
    return await asyncio.create_subprocess_exec(*command, stdout=pipe, stderr=pipe)


async def ended(process: asyncio.subprocess.Process) -> str:
    """What it said, and nothing else; one that does not end is ended."""
    try:
        async with asyncio.timeout(PATIENCE):
            out, err = await process.communicate()
    except TimeoutError:
        process.kill()
        raise
    assert (process.returncode, err.decode()) == (0, "")
    return out.decode()


async def follows(door: Front, _process: asyncio.subprocess.Process | None = None) -> None:
    async def someone() -> bool:
        return door.backend.feed.followers > 0

    await until(someone, PATIENCE, lambda: "nobody follows")


async def waits(_door: Front, process: asyncio.subprocess.Process) -> None:
    assert process.stdout is not None
    async with asyncio.timeout(PATIENCE):
        assert await process.stdout.readline() == b"IN_PROGRESS\n"


@pytest.mark.parametrize(("program", "is_at_it"), [(FOLLOWS, follows), (WAITS, waits)])
async def test_one_that_is_interrupted_ends_as_any_other(
    idle: Front,
    program: str,
    is_at_it: Callable[[Front, asyncio.subprocess.Process], Awaitable[None]],
) -> None:
    process = await started(idle, program)
    await is_at_it(idle, process)
    process.send_signal(signal.SIGINT)
    assert (await ended(process)).splitlines()[-1] == "stopped"


@pytest.mark.parametrize("stream", ["job.events()", 'client.events("0-0")', "client.jobs()"])
async def test_one_that_ends_with_a_stream_in_its_hands_ends(idle: Front, stream: str) -> None:
    process = await started(idle, f"stream = {stream}\nnext(stream)\nprint('done')")
    assert await ended(process) == "done\n"


async def test_what_is_told_the_progress_may_ask_the_client(working: Front, site: Site) -> None:
    url = site.has("/story", STORY, HTML)
    seen: list[tuple[str, Any]] = []

    def program() -> str:
        with Client(working.url) as client:
            job = client.submit([url])

            def progress(_status: Any) -> None:
                seen.append((threading.current_thread().name, str(job.status)))

            return str(job.wait(PATIENCE, progress=progress))

    name, last = await in_thread(lambda: (threading.current_thread().name, program()))
    assert last == "COMPLETED"
    assert {thread for thread, _status in seen} == {name}
    assert seen[-1][1] == "COMPLETED"


async def test_a_client_is_closed_more_than_once_and_ends_what_others_wait_for(
    idle: Front,
) -> None:
    client = Client(idle.url)

    def follow() -> str:
        try:
            return str(next(client.events()))
        except asyncio.CancelledError:
            return "ended"

    following = asyncio.create_task(in_thread(follow))
    await follows(idle)
    await in_thread(client.close)
    assert await following == "ended"
    await in_thread(client.close)
