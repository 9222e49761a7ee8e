"""What needs attention, and what does not."""

from dataclasses import replace
from typing import Any

import pytest

from curtsy.clock import HOUR
from curtsy.reports.report import Report, ReportFigures, SourceLine, Waits
from curtsy.reports.report_findings import MOST, findings
from support.sample_report import sample_report

CALM = replace(
    sample_report(),
    figures=ReportFigures(succeeded=990, failed=10, success_rate=0.99, fetch_p95_ms=900),
    before=ReportFigures(succeeded=990, failed=10, success_rate=0.99, fetch_p95_ms=900), failing=(),
    failures=(), schedules=replace(sample_report().schedules, late=0, missed=0, refused=0),
    sites=replace(sample_report().sites, failed_runs=0),
)  # fmt: skip


def codes(**changes: Any) -> list[str]:
    report: Report = replace(CALM, **changes)
    return [finding.code for finding in findings(report)]


def source(failed: int, ended: int) -> SourceLine:
    return SourceLine("a.example", ended - failed, failed)


def test_a_calm_period_has_none() -> None:
    assert codes() == []


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"workers_alive": 0, "waiting": 1}, "no_worker"),
        ({"figures": ReportFigures(succeeded=90, failed=10, success_rate=0.9)}, "success_fell"),
        ({"figures": ReportFigures(succeeded=70, failed=30, success_rate=0.7), "before": None},
         "success_low"),
        ({"failing": (source(5, 10),)}, "source_failing"),
        ({"schedules": replace(CALM.schedules, missed=1)}, "slots_missed"),
        ({"schedules": replace(CALM.schedules, refused=1)}, "slots_refused"),
        ({"schedules": replace(CALM.schedules, late=1)}, "slots_late"),
        ({"sites": replace(CALM.sites, failed_runs=2)}, "runs_failed"),
        ({"figures": replace(CALM.figures, fetch_p95_ms=1_400)}, "fetch_slower"),
        ({"waits": Waits(capacity_ms=2 * HOUR)}, "capacity_short"),
        ({"courtesy": replace(CALM.courtesy, too_close=1)}, "requests_too_close"),
        ({"failures": (replace(sample_report().failures[0], number=10, before=0),)}, "kind_new"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_found(changes: Any, code: str) -> None:
    assert codes(**changes) == [code]


def test_small_numbers_say_little() -> None:
    few = ReportFigures(succeeded=1, failed=5, success_rate=1 / 6)
    assert codes(figures=few) == []
    assert codes(failing=(source(4, 4), source(10, 1_000))) == []


def test_politeness_is_no_lack_of_workers() -> None:
    assert codes(waits=Waits(capacity_ms=HOUR, politeness_ms=100 * HOUR)) == []


def test_their_number_and_their_names_are_bounded() -> None:
    bad = replace(sample_report().failures[0], number=10, before=0)
    long = replace(source(9, 9), source="x" * 10_000)
    report = replace(CALM, failures=(bad,) * 30, failing=(long,) * 10)
    found = findings(report)
    assert len(found) == MOST
    assert all(len(finding.sentence) < 400 for finding in found)
