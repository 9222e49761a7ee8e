"""Hours against an oracle that looks at the wall's clock minute by minute."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curtsy.clock import HOUR, MINUTE
from curtsy.politeness.hours import Hours

CHANGES = {
    "Europe/London": datetime(2026, 3, 29, 1, tzinfo=UTC),
    "America/New_York": datetime(2026, 11, 1, 6, tzinfo=UTC),
    "Australia/Lord_Howe": datetime(2026, 4, 4, 15, tzinfo=UTC),  # by half an hour
    "Asia/Kathmandu": datetime(2026, 6, 1, tzinfo=UTC),  # never, and a quarter past the rest
}


def instant(moment: datetime) -> int:
    return int(moment.timestamp() * 1000)


def on_the_wall(hours: Hours, at: int) -> bool:
    local = (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=at)).astimezone(
        ZoneInfo(hours.timezone)
    )
    minute = local.hour * 60 + local.minute
    if hours.start < hours.end:
        return hours.start <= minute < hours.end
    return minute >= hours.start or minute < hours.end


@settings(deadline=None, max_examples=60)
@given(
    st.sampled_from(sorted(CHANGES)), st.integers(0, 1439), st.integers(1, 1439),
    st.integers(-36 * 60, 36 * 60),
)  # fmt: skip
def test_they_begin_and_end_as_the_wall_says(zone: str, start: int, span: int, ago: int) -> None:
    hours = Hours(start, (start + span) % 1440, zone)
    at = instant(CHANGES[zone]) + ago * MINUTE
    assert hours.within(at) == on_the_wall(hours, at)
    change = hours.changes_at(at)
    for minute in range((change - at) // MINUTE):
        assert on_the_wall(hours, at + minute * MINUTE) == hours.within(at)
    assert on_the_wall(hours, change) != hours.within(at)
    assert on_the_wall(hours, change - 1) == hours.within(at)


@settings(deadline=None, max_examples=60)
@given(
    st.sampled_from(sorted(CHANGES)), st.integers(0, 1439), st.integers(1, 1439),
    st.integers(-2_000, 2_000), st.integers(0, 50 * HOUR), st.sampled_from([1.0, 2.0, 5.0]),
)  # fmt: skip
def test_polite_time_passes_slower_within_them(
    zone: str, start: int, span: int, ago: int, length: int, slowdown: float
) -> None:
    hours = Hours(start, (start + span) % 1440, zone, slowdown)
    at = instant(CHANGES[zone]) + ago * MINUTE
    until = hours.after(at, length)
    assert length <= until - at <= length * slowdown + 1
    assert hours.passed(at, until) == pytest.approx(length, abs=1.5)
    minutes = (until - at) // MINUTE
    passed = sum(
        MINUTE / (slowdown if on_the_wall(hours, at + m * MINUTE) else 1) for m in range(minutes)
    )
    assert passed == pytest.approx(length, abs=2 * MINUTE)


def test_closed_hours_are_told() -> None:
    hours = Hours(9 * 60, 17 * 60, "Europe/London", closed=True)
    nine = instant(datetime(2026, 7, 1, 8, tzinfo=UTC))  # there it is nine
    assert hours.opens_at(nine - 1) == nine - 1
    assert hours.opens_at(nine) == hours.opens_at(nine + HOUR) == nine + 8 * HOUR
    assert hours.closed_between(nine - HOUR, nine + 24 * HOUR) == 8 * HOUR
    assert hours.after(nine, 5) == nine + 5


def test_hours_that_last_no_time_are_refused() -> None:
    with pytest.raises(ValueError, match="are the same time"):
        Hours(60, 60)
