"""A year of many schedules: read from their rows, judged and advanced as a scheduler does, but on a
simulated clock and without a database."""

import heapq
import time
from types import SimpleNamespace
from typing import Any

from bench.children import contestant
from curtsy.clock import DAY
from curtsy.schedules.due import schedule_state
from curtsy.schedules.verdict import DEFAULT_WINDOW, first_slot, judge
from curtsy.timetable import Cron, Every, Rule, from_json, slots, to_json

NEW_YEAR = 1_767_225_600_000
PLACES = ("UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Tokyo")


def rule_of(number: int) -> Rule:
    """Mostly once or a few times a day, some every hour, some on weekdays or weekly."""
    place, minute, hour = PLACES[number % len(PLACES)], number % 60, number % 24
    return (
        Cron(f"{minute} {hour} * * *", place),
        Cron(f"{minute} {hour} * * MON-FRI", place),
        Cron(f"{minute} */6 * * *", place),
        Cron(f"{minute} 8-18 * * MON-FRI", place),
        Cron("@weekly", place),
        Every(60 + number % 600),
        Every(24 * 60, jitter=False),
    )[number % 7]


def row_of(number: int) -> SimpleNamespace:
    """The fields of a schedule's row that judging needs."""
    name, rule = f"sch_{number}", rule_of(number)
    first = first_slot(rule, name, now=NEW_YEAR, not_before=None)
    return SimpleNamespace(
        public_id=name, rule=to_json(rule), overlap="skip", catch_up="latest",
        window_ms=DEFAULT_WINDOW, next_fire_at=first, waiting_fire_at=None, last_fire_at=None,
        created_at=NEW_YEAR,
    )  # fmt: skip


def measure(schedules: int, days: int) -> dict[str, Any]:
    until = NEW_YEAR + days * DAY
    began, fired = time.process_time(), 0
    rows = [row_of(number) for number in range(schedules)]
    waiting = [(row.next_fire_at, number) for number, row in enumerate(rows)]
    heapq.heapify(waiting)
    while waiting[0][0] <= until:
        now, number = waiting[0]
        row = rows[number]
        verdict = judge(schedule_state(row, is_busy=False, ended_at=None), now)
        fired += verdict.fire is not None
        row.next_fire_at, row.last_fire_at = verdict.next_fire_at, verdict.fire
        heapq.heapreplace(waiting, (verdict.look_at, number))
    seconds = time.process_time() - began
    expected = sum(1 for row in rows for _ in slots(
        from_json(row.rule), after=NEW_YEAR, until=until, seed=row.public_id))  # fmt: skip
    if fired != expected:
        raise AssertionError(f"{fired} slots fired of {expected}")
    return {"seconds": seconds, "fired": fired}


if __name__ == "__main__":
    contestant(measure)
