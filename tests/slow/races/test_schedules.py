"""Random races around a few schedules: with every rule in place, and with one removed."""

import re
from collections import Counter
from collections.abc import Callable
from contextlib import suppress

import pytest

from curtsy.store import Store
from races.race import emptied, hesitating
from races.schedule_race import ScheduleRace
from support import removed
from support.holding import Repeats
from support.sql import run, text

SEEDS = range(10)
SEEDS_TO_FIND = 60
OUTCOMES = text("SELECT trigger, outcome, count(*) FROM firings GROUP BY trigger, outcome")
NO_KEY = text("ALTER TABLE firings DROP CONSTRAINT firings_pkey")
Patch = pytest.MonkeyPatch


async def race(seed: int, stores: list[Store], monkeypatch: Patch) -> list[str]:
    await emptied(stores[0])
    with hesitating(monkeypatch, seed):
        return [f"seed {seed}: {problem}" for problem in await ScheduleRace(seed, stores).run()]


async def test_no_race_fires_twice_forgets_a_job_or_deadlocks(
    stores: list[Store], monkeypatch: Patch, repeats: Repeats
) -> None:
    outcomes: Counter[tuple[str, str]] = Counter()
    for seed in SEEDS:
        assert await race(seed, stores, monkeypatch) == []
        assert repeats.states == [], f"seed {seed} met {repeats.told}"
        for trigger, outcome, times in await stores[0].read(lambda c: run(c, OUTCOMES).all()):
            outcomes[trigger, outcome] += times
    print(dict(outcomes))
    assert {outcome for _trigger, outcome in outcomes} >= {"fired", "skipped", "missed"}


SYMPTOMS = {
    removed.one_firing: "a slot has one job",
    removed.held_schedule: "came beside one|its schedule's first|has a slot, or waits",
}


@pytest.mark.parametrize("rule", SYMPTOMS, ids=lambda rule: rule.__name__)
async def test_the_same_races_find_what_a_removed_rule_breaks(
    stores: list[Store], monkeypatch: Patch, rule: Callable[[Patch], None]
) -> None:
    rule(monkeypatch)
    if rule is removed.one_firing:
        await stores[0].write(lambda c: run(c, NO_KEY) and None)
    found: list[str] = []
    for seed in range(SEEDS_TO_FIND):
        with suppress(ExceptionGroup):  # what else breaks is another matter
            found += await race(seed, stores, monkeypatch)
        if any(re.search(SYMPTOMS[rule], problem) for problem in found):
            return
    pytest.fail(f"{SEEDS_TO_FIND} races found only {set(found)}")
