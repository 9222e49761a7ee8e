"""The loop behind the blocking client: an interrupt at any moment leaves it usable."""

import asyncio
from collections.abc import AsyncGenerator, Iterator
from typing import Any

import pytest

from curtsy.client.background_loop import BackgroundLoop


@pytest.fixture
def loop() -> Iterator[BackgroundLoop]:
    made = BackgroundLoop()
    yield made
    made.close()


async def numbers() -> AsyncGenerator[int]:
    yield 1
    await asyncio.sleep(3_600)
    yield 2


@pytest.mark.parametrize("is_scheduled", [True, False], ids=["begun", "not begun"])
def test_an_interrupt_while_the_work_is_handed_over_ends_it(
    loop: BackgroundLoop, monkeypatch: pytest.MonkeyPatch, is_scheduled: bool
) -> None:
    found = loop.iterate(numbers())
    assert next(found) == 1
    hand_over, interrupts = loop._loop.call_soon_threadsafe, [KeyboardInterrupt()]

    def interrupted(work: Any, *given: Any) -> Any:
        if not interrupts or is_scheduled:
            handle = hand_over(work, *given)
        if interrupts:
            raise interrupts.pop()
        return handle

    monkeypatch.setattr(loop._loop, "call_soon_threadsafe", interrupted)
    with pytest.raises(KeyboardInterrupt):
        next(found)
    assert loop.run(asyncio.sleep(0, "well")) == "well"


def test_what_fails_fails_for_the_caller(loop: BackgroundLoop) -> None:
    async def failing() -> None:
        raise ValueError("so")

    with pytest.raises(ValueError, match="so"):
        loop.run(failing())
