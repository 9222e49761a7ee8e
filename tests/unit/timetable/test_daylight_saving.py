"""What the document says of each change of clocks, row by row."""

import re
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from curtsy.clock import MINUTE
from curtsy.timetable import Cron, checked, slot_after, slots, zones
from curtsy.timetable.cron import NAMED
from timetable.oracle import runs, walls

DOCUMENT = Path(__file__).parents[3] / "docs/explanation/daylight-saving.md"
ROW = re.compile(r"\| `(?P<line>[^`]+)` \| (?P<zone>\S+) \| (?P<day>[^|]+) \| (?P<fires>[^|]+) \|")
ROWS = [found.groupdict() for found in map(ROW.match, DOCUMENT.read_text().splitlines()) if found]


def window(day: str, zone: str) -> tuple[int, int]:
    """Both ends belong to it; the first is the earlier, the last the later of two passes."""
    date, _, times = day.strip().partition(" ")
    first, last = times.split("–") if times else ("00:00", "23:59")
    place = ZoneInfo(zone)
    start = datetime.fromisoformat(f"{date} {first}").replace(tzinfo=place)
    end = datetime.fromisoformat(f"{date} {last}").replace(tzinfo=place, fold=1)
    return int(start.timestamp() * 1000), int(end.timestamp() * 1000)


def promised(row: dict[str, str]) -> list[int]:
    if row["fires"].strip() == "none":
        return []
    date = row["day"].split()[0]
    moments = [
        datetime.fromisoformat(f"{date}T{time}") for time in row["fires"].strip().split(", ")
    ]
    return [int(moment.timestamp() * 1000) for moment in moments]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['line']} {row['zone']} {row['day']}")
def test_a_row_of_the_document_is_true(row: dict[str, str]) -> None:
    rule = checked(Cron(row["line"], row["zone"]))
    first, last = window(row["day"], row["zone"])
    expected = promised(row)
    assert list(slots(rule, after=first - 1, until=last, seed="")) == expected
    step_by_step, at = [], first - 1
    while (slot := slot_after(rule, at, seed="")) is not None and slot <= last:
        step_by_step.append(at := slot)
    assert step_by_step == expected
    for slot in expected:
        assert list(slots(rule, after=slot - 1, until=slot, seed="")) == [slot]
    for slot, following in pairwise(expected):
        assert slot_after(rule, following - 1, seed="") == following
        assert slot_after(rule, (slot + following) // 2, seed="") == following


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['line']} {row['zone']} {row['day']}")
def test_the_slow_daemon_agrees_with_the_document(row: dict[str, str]) -> None:
    first, last = window(row["day"], row["zone"])
    start = first // MINUTE - 3 * 24 * 60
    line = NAMED.get(row["line"], row["line"])
    ran = runs(line, walls(row["zone"], start, last // MINUTE), start)
    assert [minute * MINUTE for minute in ran if minute * MINUTE >= first] == promised(row)


def test_the_document_tells_of_every_sort_of_change() -> None:
    assert len(ROWS) == sum(line.startswith("| `") for line in DOCUMENT.read_text().splitlines())
    assert len(ROWS) >= 35
    assert len({row["zone"] for row in ROWS}) >= 10


@pytest.mark.parametrize(
    ("line", "zone", "asked", "answer"),
    [
        ("45 2 * * *", "Europe/Berlin", "2026-10-25T02:10+02:00", "2026-10-25T02:45+02:00"),
        ("45 2 * * *", "Europe/Berlin", "2026-10-25T02:10+01:00", "2026-10-26T02:45+01:00"),
        ("45 2 * * *", "Europe/Berlin", "2026-10-25T02:50+02:00", "2026-10-26T02:45+01:00"),
        ("*/20 * * * *", "Europe/Berlin", "2026-10-25T02:40+02:00", "2026-10-25T02:00+01:00"),
        ("*/20 * * * *", "Europe/Berlin", "2026-10-25T02:00+01:00", "2026-10-25T02:20+01:00"),
        ("30 2 * * *", "Europe/Berlin", "2026-03-29T01:59:59.999+01:00", "2026-03-29T03:00+02:00"),
        ("30 2 * * *", "Europe/Berlin", "2026-03-29T03:00+02:00", "2026-03-30T02:30+02:00"),
    ],
)
def test_both_passes_of_an_hour_are_told_apart(
    line: str, zone: str, asked: str, answer: str
) -> None:
    after, expected = (datetime.fromisoformat(text) for text in (asked, answer))
    slot = slot_after(Cron(line, zone), round(after.timestamp() * 1000), seed="")
    assert slot == expected.timestamp() * 1000


def test_a_year_that_turns_within_a_repeated_hour_does_not_repeat_the_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No zone does so today, but the stretches are cut at New Year."""
    new_year = zones.start_of(2031)
    change = zones.Change(new_year - 600, 3600, 0)
    monkeypatch.setattr(zones, "pieces", zones.pieces.__wrapped__)  # whose answers are not kept
    monkeypatch.setattr(zones, "changes", lambda name, year: (change,) if year == 2030 else ())
    monkeypatch.setattr(zones, "offset", lambda zone, second: 3600 if second < change.at else 0)
    after = (new_year - 2 * 3600) * 1000
    found = list(slots(Cron("10 0 * * *", "UTC"), after=after, until=after + 86_400_000, seed=""))
    assert found == [(new_year - 3000) * 1000]


def test_a_change_at_new_year_belongs_to_one_year(monkeypatch: pytest.MonkeyPatch) -> None:
    new_year = zones.start_of(2031)
    monkeypatch.setattr(zones, "offset", lambda zone, second: 3600 if second < new_year else 0)
    years = [zones.changes.__wrapped__("UTC", year) for year in (2030, 2031, 2032)]
    assert years == [(), (zones.Change(new_year, 3600, 0),), ()]
