"""Numbers as people read them."""

from typing import Any

import pytest

from curtsy.clock import DAY, HOUR, MINUTE
from curtsy.reports import formats
from curtsy.reports.changes import Change, of_count, of_share, of_span

SPACE, MINUS = formats.NARROW, formats.MINUS
AT = 1_794_996_000_000


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (formats.span(None), "–"), (formats.span(0), "0"), (formats.span(999), "999 ms"),
        (formats.span(1_234), "1.23 s"), (formats.span(90 * MINUTE), "90 min"),
        (formats.span(30 * HOUR), "30 h"), (formats.span(400 * DAY), "400 d"),
        (formats.size(0), "0 bytes"), (formats.size(999_999), "1 MB"),
        (formats.size(2_914_000_000), "2.91 GB"), (formats.compact(999_999), "1M"),
        (formats.compact(1_200), "1.2k"), (formats.percent(None), "–"),
        (formats.percent(1), "100 %"),
        (formats.percent(0.99999), "99.9 %"), (formats.percent(0), "0 %"),
        (formats.percent(0.0002), "< 0.1 %"), (formats.number(1_234_567), "1,234,567"),
        (formats.hours(360), "6 hours"), (formats.hours(24 * 60), "24 hours"),
        (formats.hours(30 * 24 * 60), "30 days"), (formats.hours(347), "5 hours 47 minutes"),
        (formats.hours(61), "1 hour 1 minute"), (formats.hours(90 * 60), "3 days 18 hours"),
        (formats.hours(1), "1 minute"), (formats.moment(AT), "18 Nov 2026, 10:00"),
        (formats.period(AT - 6 * HOUR, AT), "18 Nov 2026, 04:00 to 10:00 UTC"),
        (formats.period(AT - DAY, AT), "17 Nov 2026, 10:00 to 18 Nov 2026, 10:00 UTC"),
        (formats.days("2026-11-18", "2026-11-18"), "18 Nov 2026"),
        (formats.days("2025-12-31", "2026-01-01"), "31 Dec 2025 to 1 Jan 2026"),
    ],
)  # fmt: skip
def test_values_are_written(shown: str, expected: str) -> None:
    assert shown.replace(SPACE, " ") == expected


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (of_count(5, None), None), (of_count(0, 0), ("no change", "same")),
        (of_count(7, 0, good=-1), ("+7, from none", "worse")),
        (of_count(107, 100), ("+7 %", "other")), (of_count(102, 100, good=-1), ("+2 %", "other")),
        (of_count(150, 100, good=-1), ("+50 %", "worse")),
        (of_count(50, 100, good=-1), (f"{MINUS}50 %", "better")),
        (of_count(5_000, 100), ("50 times as many", "other")),
        (of_span(None, 5), None), (of_span(200, 100), ("+100 %", "worse")),
        (of_share(0.98, 0.99), (f"{MINUS}1.0 points", "worse")),
        (of_share(0.5, 0.5), ("no change", "same")), (of_share(None, 0.5), None),
    ],
)  # fmt: skip
def test_changes_are_judged(change: Change | None, expected: Any) -> None:
    if change is not None:
        change = change._replace(words=change.words.replace(SPACE, " "))
    assert change == expected
