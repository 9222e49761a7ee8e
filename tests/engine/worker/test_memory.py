"""A worker reports its memory, and pages that processes share are counted once."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from curtsy.store import Statement
from curtsy.worker.resident_memory import resident_bytes
from support.engine import Engine, until

MEGABYTE = 2**20
LARGE = 64 * MEGABYTE
SLACK = 24 * MEGABYTE
"""For an interpreter of its own, and for what children write to in shared pages."""
FAMILY = f"""
import os, sys
shared = bytearray(b"x") * {LARGE}
grown = []
for _ in range(4):
    ask, asked = os.pipe()
    told, tell = os.pipe()
    if not os.fork():
        while os.read(ask, 1):
            grown.append(bytearray(b"y") * {LARGE})
            os.write(tell, b".")
        os._exit(0)
print("ready", flush=True)
for _ in sys.stdin:
    os.write(asked, b".")
    os.read(told, 1)
    print("grown", flush=True)
"""
_MEMORY = Statement("SELECT memory_bytes FROM workers")


@contextmanager
def family() -> Iterator[subprocess.Popen[str]]:
    """A process with a large memory and four children that share it."""
    command = [sys.executable, "-c", FAMILY]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == "ready\n"
        yield parent


def beyond_this_process(server: int) -> int:
    own, whole = resident_bytes(), resident_bytes([server])
    assert own is not None
    assert whole is not None
    return whole - own


def test_what_children_share_with_their_fork_server_counts_once() -> None:
    with family() as parent:
        assert LARGE < beyond_this_process(parent.pid) < LARGE + SLACK


def test_what_a_child_allocates_itself_counts() -> None:
    with family() as parent:
        assert parent.stdin is not None
        assert parent.stdout is not None
        parent.stdin.write("grow\n")
        parent.stdin.flush()
        assert parent.stdout.readline() == "grown\n"
        assert 2 * LARGE < beyond_this_process(parent.pid) < 2 * LARGE + SLACK


def test_a_fork_server_that_has_ended_counts_nothing() -> None:
    with family() as parent:
        pass
    own, whole = resident_bytes(), resident_bytes([parent.pid])
    assert own is not None
    assert whole is not None
    assert abs(whole - own) < SLACK


def test_elsewhere_than_on_linux_the_memory_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert resident_bytes() is None


async def test_a_heartbeat_tells_how_much_memory_the_worker_uses(curtsy: Engine) -> None:
    async def reported() -> int:
        return await curtsy.store.read(lambda c: _MEMORY(c).scalar() or 0)

    async with curtsy.worker():
        await until(reported, 10, lambda: "the worker's row tells no memory")
        before = await reported()
        ballast = bytearray(b"x") * (4 * LARGE)

        async def has_grown() -> bool:
            return await reported() > before + 3 * LARGE

        await until(has_grown, 30, lambda: "no heartbeat told of the growth")
        assert ballast
