"""A thousand schedules on a clock that nobody waits for."""

import heapq
import time

from curtsy.clock import DAY, MINUTE
from curtsy.timetable import Cron, Every, Rule, checked, slot_after, slots
from timetable.oracle import runs, walls

START = 1_767_225_600_000  # New Year 2026
YEAR = 365 * DAY
PLACES = ["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Tokyo"]
MOST_SECONDS = 20


def mixed(number: int) -> Rule:
    place = PLACES[number % len(PLACES)]
    minute, hour = number % 60, number % 24
    return [
        Cron(f"{minute} {hour} * * *", place),
        Cron(f"{minute} {hour} * * MON-FRI", place),
        Cron(f"{minute} 3 {number % 28 + 1} * *", place),
        Cron(f"*/30 {hour} * * *", place),
        Cron(f"{minute} */6 * * *", place),
        Cron("@weekly", place),
        Every(24 * 60, jitter=False),
        Every(60 + number % 600),
        Cron("@hourly", place) if number % 20 == 8 else Cron("0 6,18 * * *", place),
    ][number % 9]


def test_a_year_of_a_thousand_schedules_takes_seconds() -> None:
    """As a duty walks: always the earliest schedule, which then tells its next slot. What counts is
    the time of this process, since the machine may have others."""
    began = time.process_time()
    rules = [checked(mixed(number)) for number in range(1000)]
    waiting = [(START, number) for number in range(1000)]
    heapq.heapify(waiting)
    fired = [0] * 1000
    while waiting[0][0] <= START + YEAR:
        at, number = waiting[0]
        following = slot_after(rules[number], at, seed=str(number))
        assert following is not None
        assert following > at
        fired[number] += following <= START + YEAR
        heapq.heapreplace(waiting, (following, number))
    walked = time.process_time()
    for number, rule in enumerate(rules):
        listed = slots(rule, after=START, until=START + YEAR, seed=str(number))
        assert sum(1 for _ in listed) == fired[number], rule
    listed_at = time.process_time()
    print(f"{sum(fired)} slots: walked {walked - began:.2f} s, listed {listed_at - walked:.2f} s")
    assert listed_at - began < MOST_SECONDS


def test_a_rare_line_over_many_years_is_as_the_slow_daemon_has_it() -> None:
    line, zone, span = "30 2 * 3,10 0L", "Europe/Berlin", 3 * YEAR
    first = START // MINUTE
    slow = runs(line, walls(zone, first, (START + span) // MINUTE), first)
    found = slots(Cron(line, zone), after=START - 1, until=START + span, seed="")
    assert [slot // MINUTE for slot in found] == slow
    assert len(slow) == 6
