"""Random races with every rule in place, and the same races with a rule removed."""

import re
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack

import pytest
from sqlalchemy.exc import IntegrityError

from curtsy.store import Store
from interleaving import removed
from interleaving.holding import Repeats
from interleaving.race import Race, emptied, hesitating

PROCESSES = 14
SEEDS = range(20)
SECONDS_TO_FIND = 20.0
Patch = pytest.MonkeyPatch


@pytest.fixture
async def stores(postgres_url: str) -> AsyncIterator[list[Store]]:
    async with AsyncExitStack() as stack:
        yield [
            await stack.enter_async_context(Store(postgres_url, pool_size=3))
            for _ in range(PROCESSES)
        ]


async def race(seed: int, stores: list[Store], monkeypatch: Patch) -> list[str]:
    await emptied(stores[0])
    with hesitating(monkeypatch, seed):
        return [f"seed {seed}: {problem}" for problem in await Race(seed, stores).run()]


async def test_no_race_loses_counts_twice_or_deadlocks(
    stores: list[Store], monkeypatch: Patch, repeats: Repeats
) -> None:
    for seed in SEEDS:
        assert await race(seed, stores, monkeypatch) == []
        assert repeats.states == [], f"seed {seed} met {repeats.told}"


SYMPTOMS = {
    removed.locking_join: "a waiting item has a visit|attempts_pkey",
    removed.page_lock: "a waiting item has a visit|40P01",
    removed.fence: "while w.* holds it|was dead and its flush counted",
    removed.turn_guard: "attempts_pkey|both times it counted|turn after its page's last",
    removed.job_lock: "events_job_id_n|without gaps",
}


@pytest.mark.parametrize("rule", SYMPTOMS, ids=lambda rule: rule.__name__)
async def test_the_same_races_find_what_a_removed_rule_breaks(
    stores: list[Store], monkeypatch: Patch, repeats: Repeats, rule: Callable[[Patch], None]
) -> None:
    rule(monkeypatch)
    give_up = time.monotonic() + SECONDS_TO_FIND
    for seed in range(1_000):
        found = await race_until_it_breaks(seed, stores, monkeypatch)
        if any(re.search(SYMPTOMS[rule], problem) for problem in (*found, *repeats.states)):
            return
        assert time.monotonic() < give_up, f"{seed + 1} seeds found only {found}"


async def race_until_it_breaks(seed: int, stores: list[Store], monkeypatch: Patch) -> list[str]:
    found: list[str] = []
    try:
        found = await race(seed, stores, monkeypatch)
    except* IntegrityError as broken:
        found = [str(error) for error in broken.exceptions]
    return found
