"""Questions answered together: none lost, none kept waiting, each with its own answer."""

import asyncio
from collections.abc import Sequence

import pytest

from curtsy.batcher import Batcher
from curtsy.errors import StoreAway


class Oracle:
    """Answers with the square; while it is held, batches wait."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.open = asyncio.Event()
        self.open.set()
        self.cancelled = 0

    async def __call__(self, questions: Sequence[int]) -> Sequence[int | Exception]:
        self.batches.append(list(questions))
        try:
            await self.open.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        if any(n > 1_000 for n in questions):
            raise OverflowError("too large")
        return [ValueError(f"{n} is odd") if n % 2 else n * n for n in questions]


async def within_a_second(*asked: asyncio.Task[int]) -> list[int | BaseException]:
    async with asyncio.timeout(1):
        return await asyncio.gather(*asked, return_exceptions=True)


async def test_one_after_another_each_is_answered() -> None:
    """The next question may come in the very step in which the batch before it ends."""
    gathering = Batcher(oracle := Oracle(), most=10, at_once=1)
    async with asyncio.timeout(5):
        for n in range(0, 200, 2):
            assert await gathering.submit(n) == n * n
    assert all(len(batch) == 1 for batch in oracle.batches)


async def test_what_comes_while_one_is_answered_is_one_batch() -> None:
    gathering = Batcher(oracle := Oracle(), most=10, at_once=1)
    oracle.open.clear()
    first = asyncio.create_task(gathering.submit(0))
    await asyncio.sleep(0)
    rest = [asyncio.create_task(gathering.submit(n)) for n in range(2, 26, 2)]
    await asyncio.sleep(0)
    oracle.open.set()
    assert await within_a_second(first, *rest) == [n * n for n in range(0, 26, 2)]
    assert [len(batch) for batch in oracle.batches] == [1, 10, 2]


async def test_an_error_is_that_of_one_question() -> None:
    gathering = Batcher(Oracle(), most=10, at_once=1)
    with pytest.raises(ValueError, match="7 is odd"):
        await gathering.submit(7)
    asked = [asyncio.create_task(gathering.submit(n)) for n in (2, 3, 4)]
    two, three, four = await within_a_second(*asked)
    assert (two, four) == (4, 16)
    assert isinstance(three, ValueError)


async def test_a_batch_that_one_request_spoils_is_split_until_it_is_alone() -> None:
    gathering = Batcher(oracle := Oracle(), most=10, at_once=1)
    asked = [asyncio.create_task(gathering.submit(n)) for n in (2, 2_000, 4)]
    two, spoilt, four = await within_a_second(*asked)
    assert (two, four) == (4, 16)
    assert isinstance(spoilt, OverflowError)
    assert oracle.batches == [[2, 2_000, 4], [2], [2_000, 4], [2_000], [4]]
    assert await gathering.submit(6) == 36


async def test_a_store_that_is_away_is_not_asked_by_each() -> None:
    async def away(questions: Sequence[int]) -> Sequence[int | Exception]:
        raise StoreAway(f"asked {len(questions)} at once")

    gathering = Batcher(away, most=10, at_once=1)
    asked = [asyncio.create_task(gathering.submit(n)) for n in (2, 4)]
    errors = await within_a_second(*asked)
    assert all("asked 2 at once" in str(error) for error in errors)


async def test_who_gives_up_leaves_the_others_as_they_are() -> None:
    gathering = Batcher(oracle := Oracle(), most=10, at_once=1)
    oracle.open.clear()
    asked = [asyncio.create_task(gathering.submit(n)) for n in (2, 4, 6)]
    await asyncio.sleep(0.01)
    asked[0].cancel()
    await asyncio.sleep(0.01)
    oracle.open.set()
    assert await within_a_second(*asked[1:]) == [16, 36]
    assert oracle.cancelled == 0


async def test_work_that_hangs_is_left_when_all_have_given_up() -> None:
    gathering = Batcher(oracle := Oracle(), most=10, at_once=1)
    oracle.open.clear()
    asked = [asyncio.create_task(gathering.submit(n)) for n in (2, 4)]
    await asyncio.sleep(0.01)
    never_begun = asyncio.create_task(gathering.submit(6))
    await asyncio.sleep(0.01)
    for one in (*asked, never_begun):
        one.cancel()
    await asyncio.sleep(0.01)
    assert oracle.cancelled == 1
    oracle.open.set()
    async with asyncio.timeout(1):
        assert await gathering.submit(8) == 64
    assert oracle.batches == [[2, 4], [8]]
