"""A report of an ordinary morning with an incident, for tests of the page and for its picture."""

import math
import random
from dataclasses import replace

from curtsy.clock import HOUR, MINUTE
from curtsy.model.failure_kinds import RULES, Kind
from curtsy.reports.remedies import remedy_of
from curtsy.reports.report import (
    Courtesy,
    FailureLine,
    GapLine,
    LetterLine,
    Point,
    Report,
    ReportFigures,
    ReportSites,
    ScheduleLine,
    Schedules,
    SiteLine,
    SourceLine,
    Waits,
    WorkerLine,
)
from curtsy.reports.report_findings import findings

UNTIL = 1_794_996_000_000  # 18 November 2026, 10:00 UTC
BUCKET = 5 * MINUTE
SLOW = (
    ("travel.gc.ca", 412, 6, 2_400, 9_600, 4_100),
    ("boards.example.org", 1_980, 41, 1_700, 7_200, 6_900),
    ("archive.example.edu", 96, 0, 3_100, 6_400, 6_500),
    ("news.example.net", 5_210, 12, 640, 3_300, 1_500),
    ("catalogue.example.com", 8_034, 9, 510, 2_100, 2_150),
)
FAILING = (
    ("advisories.example.gov", 1_204, 388, 14, "server_error"),
    ("boards.example.org", 1_980, 41, 38, "timeout"),
    ("jobs.example.de", 640, 22, 0, "extract_failed"),
    ("news.example.net", 5_210, 12, 10, "gone"),
    ("catalogue.example.com", 8_034, 9, 11, "gone"),
    ("travel.gc.ca", 412, 6, None, "timeout"),
)
KINDS = (("server_error", 1_592, 61), ("timeout", 214, 180), ("gone", 57, 60),
         ("extract_failed", 22, 0), ("rate_limited", 12, 9))  # fmt: skip


def sample_report() -> Report:
    series = _series()
    succeeded, failed = (sum(getattr(p, name) for p in series) for name in ("succeeded", "failed"))
    report = Report(
        id="rep_4f1c9a7be021", at=UNTIL + 1_200, since=UNTIL - 6 * HOUR, until=UNTIL,
        covered_since=UNTIL - 6 * HOUR, trigger="schedule", version="0.1.0",
        figures=ReportFigures(succeeded, failed, attempts=succeeded + failed + 1_437, retries=1_437,
                        bytes=2_914_000_000, new_dead_letters=failed,
                        success_rate=succeeded / (succeeded + failed),
                        pages_per_minute=(succeeded + failed) / 360, fetch_p50_ms=410,
                        fetch_p95_ms=2_300, fetch_p99_ms=8_700),
        before=ReportFigures(20_412, 151, attempts=21_000, retries=402, bytes=2_806_000_000,
                       new_dead_letters=151, success_rate=20_412 / 20_563,
                       pages_per_minute=20_563 / 360, fetch_p50_ms=402, fetch_p95_ms=1_500,
                       fetch_p99_ms=6_200),
        series=series, slowest=_slowest(), failing=_failing(), failures=_failures(),
        letters=(_letter("server_error", 402, 374), _letter("gone", 310, 57),
                 _letter("extract_failed", 22, 22), _letter("timeout", 8, 5)),
        waits=Waits(1_560_000, 41_400_000, 9_000_000, 12_900_000),
        courtesy=_courtesy(), sites=_sites(), schedules=_schedules(), workers=_workers(),
        workers_alive=3, workers_in_all=3, waiting=8_412,
    )  # fmt: skip
    return replace(report, findings=findings(report))


def _series() -> tuple[Point, ...]:
    draw = random.Random(17)
    points = []
    for n in range(72):
        incident = 30 <= n < 44
        pages = round(290 + 90 * math.sin(n / 9) + draw.uniform(-25, 25))
        failed = round(pages * (draw.uniform(0.06, 0.13) if incident else 0.004))
        slow = 3.1 if incident else 1.0
        points.append(
            Point(UNTIL - (72 - n) * BUCKET, UNTIL - (71 - n) * BUCKET, pages - failed, failed,
                  round(380 * (1 + 0.2 * slow) + draw.uniform(-30, 30)),
                  round(1_250 * slow + draw.uniform(-150, 150)))
        )  # fmt: skip
    return tuple(points)


def _slowest() -> tuple[SourceLine, ...]:
    return tuple(
        SourceLine(name, pages, failed, p50, p95, fetch_p95_ms_before=before)
        for name, pages, failed, p50, p95, before in SLOW
    )


def _failing() -> tuple[SourceLine, ...]:
    return tuple(
        SourceLine(name, pages - failed, failed, failed_before=before, worst_kind=kind)
        for name, pages, failed, before, kind in FAILING
    )


def _failures() -> tuple[FailureLine, ...]:
    return tuple(
        FailureLine(kind, number, before, RULES[Kind(kind)].means, remedy_of(kind))
        for kind, number, before in KINDS
    )


def _letter(kind: str, number: int, new: int) -> LetterLine:
    return LetterLine(kind, number, capped=False, new=new, means=RULES[Kind(kind)].means)


def _courtesy() -> Courtesy:
    return Courtesy(
        "2026-11-18", "2026-11-18", sources=212, requests=38_120, robots_refusals=412,
        rests_announced=31, rests_of_our_own=88, not_modified=9_840, bytes=4_870_000_000,
        bytes_saved=1_320_000_000,
        closest=(GapLine("news.example.net", 1_000, 1_000), GapLine("travel.gc.ca", 2_003, 2_000),
                 GapLine("boards.example.org", 1_510, 1_500)),
    )  # fmt: skip


def _sites() -> ReportSites:
    lines = (SiteLine("cooks", 6, 0, 41, 12, 7), SiteLine("nurses", 6, 1, 9, 3, 0))
    return ReportSites(12, 1, 50, 15, 7, lines=lines)


def _schedules() -> Schedules:
    lines = (ScheduleLine("advisories, hourly", 4, 1, 2, 0),)
    return Schedules(81, 1, 2, 3, 0, largest_lag_ms=94_000, lines=lines)


def _workers() -> tuple[WorkerLine, ...]:
    return tuple(
        WorkerLine(f"w_{n}", f"scrape-{n}", 810 + n, True, UNTIL - 50 * HOUR, 100, 12 + n,
                   212_000_000 + n * 9_100_000)
        for n in range(3)
    )  # fmt: skip
