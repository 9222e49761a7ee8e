"""Random races with every rule in place, and the same races with a rule removed."""

import re
from collections.abc import Callable

import pytest

from curtsy.store import Store
from races.race import Race, emptied, hesitating
from support import removed
from support.holding import Repeats

SEEDS = range(12)
WHERE_TO_LOOK = (3, 3, 3, 3, *range(60))
"""Seeds: the first is known to find what any removed rule breaks, every other time."""
Patch = pytest.MonkeyPatch


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
    found: list[str] = []
    for seed in WHERE_TO_LOOK:
        found += await race_until_it_breaks(seed, stores, monkeypatch)
        if any(re.search(SYMPTOMS[rule], problem) for problem in (*found, *repeats.states)):
            return
    pytest.fail(f"{len(WHERE_TO_LOOK)} races found only {set(found)}")


async def race_until_it_breaks(seed: int, stores: list[Store], monkeypatch: Patch) -> list[str]:
    try:
        return await race(seed, stores, monkeypatch)
    except ExceptionGroup as broken:
        return [str(error) for error in broken.exceptions]
