"""The two charts over time, as SVG: pages that ended, and how long requests took.

They are as wide as the page, so horizontal places are percents and text keeps its size on a phone;
the lines are drawn in a stretched inner SVG. A pointer over a bucket shows its figures.
"""

from collections.abc import Callable, Iterator, Sequence

from curtsy.reports.formats import compact, number, percent, period, span, time_of_day
from curtsy.reports.formats import day as day_of
from curtsy.reports.html.markup import Html, element, joined
from curtsy.reports.html.scale import Scale, round_ticks, time_ticks
from curtsy.reports.report import Point, Report

MOST_BUCKETS = 120
TOP, BASE, HEIGHT = 18.0, 180.0, 204
"""Pixels: the top of the plot, its base line, and the whole with the labels of the time axis."""
SHORT = 6.0
"""The length of a line of one bucket, in thousandths of the width."""
GAP = 0.12
"""The part of a bucket between two bars."""
DAY_LABELS_FROM = 2 * 24 * 60
"""Minutes of a period from which the time axis shows days."""


def bounded(points: Sequence[Point], most: int = MOST_BUCKETS) -> Sequence[Point]:
    """Joins neighbours until there are at most that many. Of their quantiles, the largest stays: a
    chart that hides the worst would mislead."""
    each = -(-len(points) // most)
    if each <= 1:
        return points
    return [_join(points[n : n + each]) for n in range(0, len(points), each)]


def _join(points: Sequence[Point]) -> Point:
    return Point(
        at=points[0].at, until=points[-1].until,
        succeeded=sum(point.succeeded for point in points),
        failed=sum(point.failed for point in points),
        fetch_p50_ms=max((p.fetch_p50_ms for p in points if p.fetch_p50_ms is not None),
                         default=None),
        fetch_p95_ms=max((p.fetch_p95_ms for p in points if p.fetch_p95_ms is not None),
                         default=None),
    )  # fmt: skip


def volume_chart(report: Report) -> Html:
    """Stacked bars: failed pages stand on top of those that succeeded."""
    points = bounded(report.series)
    ticks = round_ticks(max((p.succeeded + p.failed for p in points), default=0))
    across, up = _scales(report, ticks)
    bars = (_bar(point, across, up) for point in points)
    ended, failed = number(report.figures.ended), number(report.figures.failed)
    return _chart("volume", "Pages that ended over time",
                  f"Pages that ended: {ended}, of these failed: {failed}. The table "
                  "below the chart has the figures.",
                  _grid(ticks, up, compact), *bars, _time_axis(report, across))  # fmt: skip


def latency_chart(report: Report) -> Html:
    """Two lines; a bucket without requests leaves a gap."""
    points = bounded(report.series)
    ticks = round_ticks(max((p.fetch_p95_ms or 0 for p in points), default=0))
    across, up = _scales(report, ticks)
    inner = Scale(across.low, across.high, 0, 1_000)
    lines = [
        element("path", d=path, class_=f"line {name}")
        for name, value_of in (("p95", _p95), ("p50", _p50))
        if (path := _path(points, inner, up, value_of))
    ]
    stretched = element("svg", *lines, viewBox=f"0 0 1000 {HEIGHT}", width="100%", height=HEIGHT,
                        preserveAspectRatio="none")  # fmt: skip
    hovers = (_hover(point, across, _latency_words(point)) for point in points)
    figures = report.figures
    return _chart("latency", "How long requests took over time",
                  f"Half of the requests took at most {span(figures.fetch_p50_ms)}, 95 in 100 at "
                  f"most {span(figures.fetch_p95_ms)}.",
                  _grid(ticks, up, span), stretched, *hovers,
                  _time_axis(report, across))  # fmt: skip


def _p50(point: Point) -> int | None:
    return point.fetch_p50_ms


def _p95(point: Point) -> int | None:
    return point.fetch_p95_ms


def _scales(report: Report, ticks: Sequence[float]) -> tuple[Scale, Scale]:
    """From instants to percents of the width, and from values to pixels of the height."""
    return Scale(report.since, report.until, 0, 100), Scale(0, ticks[-1], BASE, TOP)


def _chart(name: str, title: str, described: str, *parts: str) -> Html:
    return element("svg", element("title", title, id=f"{name}-title"),
                   element("desc", described, id=f"{name}-described"), *parts,
                   class_="chart", width="100%", height=HEIGHT, role="img",
                   aria_labelledby=f"{name}-title {name}-described")  # fmt: skip


def _grid(ticks: Sequence[float], up: Scale, words: Callable[[float], str]) -> Html:
    """Lines at round values, with their labels in the margin at the left."""
    lines = [element("line", x1="0", x2="100%", y1=up(tick), y2=up(tick),
                     class_="axis" if tick == 0 else "grid")
             for tick in ticks]  # fmt: skip
    labels = [element("text", words(tick), x=-8, y=up(tick) + 4, class_="tick",
                      text_anchor="end")
              for tick in ticks]  # fmt: skip
    return joined([*lines, *labels])


def _time_axis(report: Report, across: Scale) -> Html:
    words = day_of if report.minutes >= DAY_LABELS_FROM else time_of_day
    return joined(
        element("text", words(at), x=f"{place:.2f}%", y=HEIGHT - 6, class_="tick",
                text_anchor="start" if place < 5 else "end" if place > 95 else "middle")
        for at in time_ticks(report.since, report.until)
        for place in (across(at),)
    )  # fmt: skip


def _bar(point: Point, across: Scale, up: Scale) -> Html:
    left, right = across(point.at), across(point.until)
    width = max(0.05, (right - left) * (1 - GAP))
    base, middle = up(0), up(point.succeeded)
    top = up(point.succeeded + point.failed)
    bars = [
        element("rect", x=f"{left:.2f}%", width=f"{width:.2f}%", y=y, height=height, class_=name)
        for name, y, height in (("good", middle, base - middle), ("bad", top, middle - top))
        if height > 0
    ]
    return element("g", *bars, _hover(point, across, _volume_words(point)))


def _hover(point: Point, across: Scale, words: str) -> Html:
    left, right = across(point.at), across(point.until)
    what = f"{period(point.at, point.until)}: {words}"
    return element("rect", element("title", what), x=f"{left:.2f}%", y=TOP, height=BASE - TOP,
                   width=f"{max(0.05, right - left):.2f}%", class_="hover")  # fmt: skip


def _volume_words(point: Point) -> str:
    ended = point.succeeded + point.failed
    rate = f", {percent(point.succeeded / ended)} succeeded" if ended else ""
    return f"ended: {number(ended)}, failed: {number(point.failed)}{rate}"


def _latency_words(point: Point) -> str:
    if point.fetch_p95_ms is None:
        return "no requests"
    return f"half took at most {span(point.fetch_p50_ms)}, 95 in 100 {span(point.fetch_p95_ms)}"


def _path(
    points: Sequence[Point], across: Scale, up: Scale, value_of: Callable[[Point], int | None]
) -> str:
    """Through the middles of the buckets. A bucket between two empty ones becomes a short line."""
    return "".join(
        f"M{_places(run if len(run) > 1 else [(run[0][0] - SHORT, run[0][1]), *run])}"
        for run in _runs(points, across, up, value_of)
    )


def _places(places: Sequence[tuple[float, float]]) -> str:
    return "L".join(f"{x:.1f} {y:.1f}" for x, y in places)


def _runs(
    points: Sequence[Point], across: Scale, up: Scale, value_of: Callable[[Point], int | None]
) -> Iterator[list[tuple[float, float]]]:
    run: list[tuple[float, float]] = []
    for point in points:
        value = value_of(point)
        if value is None:
            if run:
                yield run
            run = []
        else:
            run.append((across((point.at + point.until) / 2), up(value)))
    if run:
        yield run
