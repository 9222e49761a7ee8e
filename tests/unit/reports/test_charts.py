"""Charts: round ticks, bounded sizes, places within the plot."""

import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from curtsy.clock import DAY, HOUR, MINUTE
from curtsy.reports.html.bars import Part, small_bar, stacked_bar
from curtsy.reports.html.charts import (
    BASE,
    MOST_BUCKETS,
    TOP,
    bounded,
    latency_chart,
    volume_chart,
)
from curtsy.reports.html.scale import Scale, round_ticks, time_ticks
from curtsy.reports.report import Point, Report
from support.sample_report import sample_report

BEGIN = 1_794_960_000_000


def with_series(*points: Point) -> Report:
    return replace(sample_report(), series=points)


@pytest.mark.parametrize(
    ("highest", "ticks"),
    [(0, [0, 1]), (1, [0, 1]), (3, [0, 1, 2, 3]), (7, [0, 2, 4, 6, 8]),
     (1_234, [0, 500, 1_000, 1_500])],
)  # fmt: skip
def test_ticks_are_round(highest: int, ticks: list[float]) -> None:
    assert round_ticks(highest) == ticks


@given(st.integers(0, 10**15))
def test_ticks_cover_every_value_and_are_few(highest: int) -> None:
    ticks = round_ticks(highest)
    assert ticks[0] == 0
    assert ticks[-1] >= highest * (1 - 1e-9)
    assert 2 <= len(ticks) <= 6
    assert all(tick == int(tick) for tick in ticks)


@given(st.integers(0, 4 * 10**12), st.integers(1, 4_000 * DAY))
def test_time_ticks_are_within_the_period_and_few(since: int, span: int) -> None:
    ticks = time_ticks(since, since + span)
    assert len(ticks) <= 6
    assert all(since <= tick <= since + span for tick in ticks)
    assert all(tick % (5 * MINUTE) == 0 for tick in ticks)


def test_hours_are_at_round_hours() -> None:
    assert time_ticks(BEGIN + 7 * MINUTE, BEGIN + 6 * HOUR) == [
        BEGIN + n * HOUR for n in (2, 4, 6)
    ]  # fmt: skip


@given(st.floats(-1e12, 1e12), st.floats(-1e12, 1e12), st.floats(-1e12, 1e12))
def test_a_scale_stays_in_its_range(low: float, high: float, value: float) -> None:
    assert 0 <= Scale(low, high, 0, 100)(value) <= 100


def many(number: int) -> list[Point]:
    return [Point(BEGIN + n, BEGIN + n + 1, 2, 1, n, 2 * n) for n in range(number)]


@pytest.mark.parametrize("number", [0, 1, MOST_BUCKETS, MOST_BUCKETS + 1, 10_000])
def test_many_points_are_joined_and_none_is_lost(number: int) -> None:
    points = bounded(many(number))
    assert len(points) <= MOST_BUCKETS
    assert sum(point.succeeded for point in points) == 2 * number
    if number:
        assert (points[0].at, points[-1].until) == (BEGIN, BEGIN + number)
        assert max(point.fetch_p95_ms or 0 for point in points) == 2 * (number - 1)


def test_a_chart_of_very_many_points_stays_small() -> None:
    report = with_series(*many(10_000))
    assert len(volume_chart(report)) < 80_000
    assert len(latency_chart(report)) < 60_000


@pytest.mark.parametrize("chart", [volume_chart, latency_chart])
def test_charts_are_well_formed_and_have_titles(chart: object) -> None:
    assert callable(chart)
    tree = ElementTree.fromstring(chart(sample_report()))
    assert tree.attrib["role"] == "img"
    ids = {part.attrib["id"] for part in tree if "id" in part.attrib}
    assert set(tree.attrib["aria-labelledby"].split()) == ids
    assert tree[0].tag == "title"
    assert tree[1].tag == "desc"


def test_bars_stand_on_the_base_and_failures_on_successes() -> None:
    tree = ElementTree.fromstring(volume_chart(sample_report()))
    for group in tree.iter("g"):
        bars = {one.attrib["class"]: one.attrib for one in group if one.tag == "rect"}
        good, bad = (
            (float(bars[name]["y"]), float(bars[name]["height"])) for name in ("good", "bad")
        )
        assert good[0] + good[1] == pytest.approx(BASE, abs=0.02)
        assert bad[0] + bad[1] == pytest.approx(good[0], abs=0.02)
        assert bad[0] >= TOP - 0.01


def test_a_line_has_a_gap_where_nothing_was_requested() -> None:
    points = [Point(BEGIN + n * MINUTE, BEGIN + (n + 1) * MINUTE, 1, 0, ms, ms)
              for n, ms in enumerate([5, 6, None, 7])]  # fmt: skip
    drawn = latency_chart(with_series(*points))
    [path, *_] = re.findall(r' d="([^"]+)"', drawn)
    assert path.count("M") == 2


def test_charts_of_nothing_are_empty_and_no_error() -> None:
    empty = with_series(Point(BEGIN, BEGIN + MINUTE, 0, 0))
    for report in (empty, with_series()):
        assert '<rect x="' in volume_chart(report) or not report.series
        assert "<path" not in latency_chart(report)


def test_a_bar_of_nothing_is_nothing() -> None:
    assert small_bar(0, 5, "bad") == small_bar(5, 0, "bad") == ""
    assert stacked_bar("waits", [Part("a", "capacity", 0)]) == ""
    drawn = stacked_bar("waits", [Part("a", "capacity", 1_000), Part("b", "closed", 3_000)])
    assert 'width="25.00%"' in drawn
    assert "25.0\N{NO-BREAK SPACE}%" in drawn
