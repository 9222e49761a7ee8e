"""Cron lines against a slow daemon that shares no code with them (`oracle.py`)."""

from datetime import UTC, date, datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from curtsy.clock import DAY, MINUTE
from curtsy.timetable import BadRule, Cron, checked, slot_after, slots
from timetable.oracle import SlowLine, runs, walls

ZONES = [
    "Africa/Cairo",  # changes at midnight
    "Africa/Casablanca",  # back for Ramadan, so the other way round
    "America/Havana",  # midnight is skipped, the first hour repeated
    "America/New_York",
    "America/Santiago",  # the last hour of a day is repeated
    "America/St_Johns",
    "Antarctica/Troll",  # two hours at once
    "Asia/Kathmandu",  # never, and a quarter past the rest
    "Australia/Lord_Howe",  # half an hour
    "Europe/Berlin",
    "Europe/Dublin",
    "Pacific/Apia",  # had no 30 December 2011
    "UTC",
]
YEARLY = [
    "*/7 * * * *", "30 * * * *", "*/15 0-3 * * *", "5 */2 * * *", "0,15,30,45 1,2,3 * * *",
    "0 0 * * *", "30 2 L * 0L", "0-59 2 * * SUN", "10 1-3/2 1-7,25-31 * sun#1,7L", "*/20 0 */2 * 1",
]  # fmt: skip


def instant(*moment: int) -> int:
    return int(datetime(*moment, tzinfo=UTC).timestamp() * 1000)  # type: ignore[arg-type]


def slow_slots(line: str, zone: str, after: int, until: int) -> list[int]:
    """In (after, until]; the daemon is started two days before, so that it knows what it ran."""
    first = (after - 2 * DAY) // MINUTE
    ran = runs(line, walls(zone, first, until // MINUTE), first)
    return [minute * MINUTE for minute in ran if minute * MINUTE > after]


@cache
def changes(zone: str) -> list[int]:
    """Hours in which the offset changes, from 2005 to 2040; New Year where it never does."""
    place, found, before = ZoneInfo(zone), [], None
    for at in range(instant(2005, 1, 1), instant(2040, 1, 1), DAY):
        offset = datetime.fromtimestamp(at / 1000, place).utcoffset()
        if before is not None and offset != before:
            found.append(at - DAY)
        before = offset
    return found or [instant(year, 1, 1) for year in range(2005, 2040)]


def has_a_day(line: str) -> bool:
    """In the 28 years after which the weekdays return; only rare months make one look for long."""
    slow = SlowLine(line)
    return any(slow.on_day(date(2024, 1, 1) + timedelta(days=day)) for day in range(28 * 366))


@pytest.mark.parametrize("zone", ZONES)
def test_a_year_is_as_the_slow_daemon_has_it(zone: str) -> None:
    start, end = instant(2011, 7, 1), instant(2012, 7, 1)
    seen = walls(zone, start // MINUTE, end // MINUTE)
    for line in YEARLY[ZONES.index(zone) % 2 :: 2]:
        slow = [minute * MINUTE for minute in runs(line, seen, start // MINUTE)]
        assert list(slots(Cron(line, zone), after=start - 1, until=end, seed="")) == slow, line


def field(low: int, high: int, *special: str) -> st.SearchStrategy[str]:
    number = st.integers(low, high)
    step = st.integers(1, high + 5).map(lambda n: f"/{n}") | st.just("")
    span = st.tuples(number, number).map(lambda ends: f"{min(ends)}-{max(ends)}")
    part = st.one_of(
        number.map(str),
        st.builds("{}{}".format, st.just("*") | span | number.map(str), step),
        *([st.sampled_from(special)] if special else []),
    )
    return st.lists(part, min_size=1, max_size=3).map(",".join)


EARLY_HOUR = field(0, 4)
LINES = st.builds(
    " ".join,
    st.tuples(
        st.just("*") | st.just("*/10") | field(0, 59),
        st.just("*") | EARLY_HOUR | field(0, 23),
        st.just("*") | field(1, 31, "L", "LW"),
        st.just("*") | field(1, 12, "JAN", "mar", "OCT-DEC"),
        st.just("*") | field(0, 7, "MON", "sun", "0L", "SUN#1", "0#5", "FRI-SAT", "7L"),
    ),
)


@settings(deadline=None, max_examples=250)
@given(
    line=LINES, zone=st.sampled_from(ZONES), which=st.integers(0, 200),
    ago=st.integers(-DAY, DAY), asked=st.lists(st.integers(0, 2 * DAY), max_size=5),
)  # fmt: skip
@example(line="* * 30 2 *", zone="UTC", which=0, ago=0, asked=[])
@example(line="45 * * * *", zone="Australia/Lord_Howe", which=1, ago=0, asked=[])
def test_slots_around_a_change_are_as_the_slow_daemon_has_them(
    line: str, zone: str, which: int, ago: int, asked: list[int]
) -> None:
    found = changes(zone)
    after = found[which % len(found)] - ago
    until = after + 2 * DAY
    if not has_a_day(line):
        with pytest.raises(BadRule):
            checked(Cron(line, zone))
        return
    rule, slow = Cron(line, zone), slow_slots(line, zone, after, until)
    assert list(slots(rule, after=after, until=until, seed="")) == slow
    for wait in asked:
        following = next((slot for slot in slow if slot > after + wait), None)
        soon = slot_after(rule, after + wait, seed="")
        assert soon == following if following else soon is None or soon > until
