"""What `curtsy doctor` and the health check find in what was read."""

import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from curtsy.clock import HOUR, MINUTE
from curtsy.extract.confinement_check import Confinement, MachineConfinement
from curtsy.history.histogram import Histogram
from curtsy.history.totals import Totals
from curtsy.model.counts import Count, megabytes
from curtsy.model.worker_places import WorkerPlace
from curtsy.reports.diagnosis import Diagnosis, Scheduler, Worker
from curtsy.reports.failing_sources import FailingSource
from curtsy.reports.findings.database import of_clocks, of_held_back, of_space
from curtsy.reports.findings.finding import Finding, Severity, sorted_by_severity, texts
from curtsy.reports.findings.machine import of_machine
from curtsy.reports.findings.processes import of_processes
from curtsy.reports.findings.sources import of_sources
from curtsy.reports.findings.success import of_success
from curtsy.store.held_back import HeldBack, OpenTransaction, Slot
from curtsy.store.space import Space

NOW = 1_800_000_000_000
PROGRAM = "curtsy 9.9"
NONE = Count(0, capped=False)
SOME = Count(3, capped=False)
WORKER = Worker(
    id="w_1", machine="here", pid=7, program=PROGRAM, place=None, lease_until=NOW + 1, alive=True,
    draining=False, in_flight=0, memory_bytes=100 * 2**20,
)  # fmt: skip
SCHEDULER = Scheduler("s_1", "here", 8, PROGRAM, ticked_at=NOW, alive=True)
IDLE = Diagnosis(
    engine="postgresql", now=NOW, workers=[], sources=[], sources_in_all=NONE,
    open_jobs=dict.fromkeys(("scheduled", "queued", "running"), NONE), pending_visits=NONE,
    dead_letters=NONE, late_schedules=NONE, schedulers=0, scheduler_processes=[],
)  # fmt: skip
SPACE = Space(database_bytes=10**9, wal_bytes=10**6, free_bytes=10**12)
CONFINED = MachineConfinement(Confinement(*[True] * 8), landlock=7, root=False)


def codes(findings: Iterable[Finding]) -> list[tuple[str, str]]:
    """Severity and code of each; each sentence is one, and says what to do."""
    found = list(findings)
    for finding in found:
        assert finding.sentence.endswith("."), finding
        assert finding.sentence[0].isupper() or finding.sentence[0].isdigit() or "." in finding.text
        assert finding.text.endswith("."), finding
        assert len(finding.remedy) > 10, finding
    return [(str(finding.severity), finding.code) for finding in found]


def processes(**changes: object) -> list[tuple[str, str]]:
    diagnosis = replace(IDLE, **changes)  # type: ignore[arg-type]
    return codes(of_processes(diagnosis, program=PROGRAM, memory_limit=500 * 2**20))


def test_nothing_is_wrong_with_an_installation_that_has_no_work() -> None:
    assert processes() == []
    assert processes(workers=[WORKER], schedulers=1, scheduler_processes=[SCHEDULER]) == []


def test_pages_that_wait_need_a_worker() -> None:
    problem = [("problem", "no_worker")]
    assert processes(pending_visits=SOME) == problem
    assert processes(open_jobs=IDLE.open_jobs | {"queued": SOME}) == problem
    assert processes(pending_visits=SOME, workers=[replace(WORKER, draining=True)]) == problem
    assert processes(pending_visits=SOME, workers=[WORKER]) == []
    assert processes(open_jobs=IDLE.open_jobs | {"scheduled": SOME}) == []


def test_slots_that_are_late_need_a_scheduler() -> None:
    assert processes(late_schedules=SOME) == [("problem", "no_scheduler")]
    assert processes(late_schedules=SOME, schedulers=1, scheduler_processes=[SCHEDULER]) == []


def test_processes_that_are_silent_are_named() -> None:
    silent = replace(WORKER, alive=False)
    assert processes(workers=[WORKER, silent]) == [("warning", "silent_worker")]
    [finding] = of_processes(replace(IDLE, workers=[silent] * 5), program=PROGRAM)
    assert finding.sentence.startswith("5 workers are silent: w_1 on here (process 7), ")
    assert finding.sentence.endswith(" and 2 more.")
    gone = replace(SCHEDULER, alive=False)
    assert processes(scheduler_processes=[gone]) == [("warning", "silent_scheduler")]


def test_processes_of_another_version_are_counted_by_version() -> None:
    old = replace(WORKER, program="curtsy 9.8")
    workers = [WORKER, old, old, replace(WORKER, program="curtsy 10.0")]
    [finding] = of_processes(replace(IDLE, workers=workers), program=PROGRAM)
    assert (finding.severity, finding.code) == ("warning", "worker_version")
    assert "3 workers are of another version" in finding.sentence
    assert "1 curtsy 10.0, 2 curtsy 9.8" in finding.sentence
    schedulers = [replace(SCHEDULER, program="curtsy 9.8")]
    assert processes(scheduler_processes=schedulers) == [("warning", "scheduler_version")]
    assert processes(workers=[replace(old, alive=False)]) == [("warning", "silent_worker")]


def test_a_worker_above_its_memory_is_named() -> None:
    large = replace(WORKER, memory_bytes=501 * 2**20)
    assert processes(workers=[large]) == [("warning", "worker_memory")]
    assert processes(workers=[replace(WORKER, memory_bytes=500 * 2**20)]) == []
    assert processes(workers=[replace(WORKER, memory_bytes=None)]) == []
    assert list(of_processes(replace(IDLE, workers=[large]), program=PROGRAM)) == []


def test_missing_processes_of_a_command_are_a_notice() -> None:
    first = replace(WORKER, place=WorkerPlace(1, 3, 812))
    second = replace(WORKER, place=WorkerPlace(2, 3, 812))
    assert processes(workers=[first, second]) == [("notice", "missing_workers")]
    dead = replace(WORKER, place=WorkerPlace(3, 3, 812), alive=False)
    assert processes(workers=[first, second, dead]) == [
        ("warning", "silent_worker"), ("notice", "missing_workers"),
    ]  # fmt: skip


@pytest.mark.parametrize(("skew", "found"), [(2_500, True), (-2_500, True), (1_900, False)])
def test_clocks_that_differ_are_told_beyond_the_doubt(skew: int, found: bool) -> None:
    assert bool(codes(of_clocks(skew, uncertainty=5))) is found
    assert codes(of_clocks(skew, uncertainty=1_000)) == []


def test_a_clock_is_ahead_or_behind() -> None:
    [ahead], [behind] = (list(of_clocks(by, uncertainty=0)) for by in (5_000, -5_000))
    assert "5.0 s ahead of the database's" in ahead.sentence
    assert "5.0 s behind the database's" in behind.sentence


def test_space_that_ends_is_a_warning_and_a_full_disk_a_problem() -> None:
    def space(
        is_full: bool = False, engine: str = "sqlite", has_room: bool = True, **sizes: int | None
    ) -> object:
        found = replace(SPACE, **sizes)
        return codes(of_space(found, engine=engine, has_room=has_room, is_full=is_full))

    assert space() == []
    assert space(is_full=True, free_bytes=0) == [("problem", "disk_full")]
    assert space(has_room=False, free_bytes=2**25) == [("problem", "disk_nearly_full")]
    assert space(free_bytes=2**30 - 1) == [("warning", "disk_space")]
    assert space(free_bytes=None, wal_bytes=None) == []
    assert space(wal_bytes=300 * 2**20) == [("warning", "wal_size")]
    assert space(wal_bytes=300 * 2**20, engine="postgresql") == []
    assert space(wal_bytes=9 * 2**30, engine="postgresql") == [("warning", "wal_size")]


def test_what_holds_back_the_server_is_told_with_the_statement_that_ends_it() -> None:
    held = HeldBack(
        (OpenTransaction(812, "psql", "idle in transaction", 20 * MINUTE),), ("two-phase",),
        (Slot("small", True, 10), Slot("standby", False, 3 * 2**30)),
    )  # fmt: skip
    found = list(of_held_back(held))
    assert codes(found) == [("warning", "old_snapshot")] * 2 + [("warning", "replication_slot")]
    assert "psql (process 812 of the server, idle in transaction)" in found[0].sentence
    assert "for 20 minutes" in found[0].sentence
    assert "pg_terminate_backend(812)" in found[0].remedy
    assert "standby (not in use) holds 3.0 GB" in found[2].sentence
    assert "pg_drop_replication_slot('standby')" in found[2].remedy


def test_sources_that_fail_for_long_are_told_with_their_kind() -> None:
    def source(ms: int | None, crashes: int = 0, kind: str | None = "dns") -> list[Finding]:
        since = None if ms is None else NOW - ms
        return list(of_sources([FailingSource("a.example", since, crashes, kind)], now=NOW))

    assert source(9 * MINUTE) == []
    [found] = source(25 * MINUTE)
    assert found.sentence == "a.example has failed for 25 minutes (dns)."
    [found] = source(50 * HOUR, kind=None)
    assert found.sentence == "a.example has failed for 50 hours."
    [found] = source(None, crashes=2)
    assert found.sentence.startswith("2 workers died in a row while visiting a.example")


def test_root_a_weak_sandbox_and_open_files_are_warnings() -> None:
    exposed = ["/x/sites.toml contains secrets, and other users may read it: `chmod 600 x`."]

    def machine(confinement: MachineConfinement, files: Iterable[str] = ()) -> object:
        return codes(of_machine(confinement, exposed=files, missing_secrets=()))

    assert machine(CONFINED) == []
    assert machine(replace(CONFINED, root=True)) == [("warning", "root")]
    assert machine(CONFINED, exposed) == [("warning", "secrets_exposed")]
    for lacking in ({"reading": False}, {"network": False, "file_changes": False}):
        weak = replace(CONFINED, refused=replace(CONFINED.refused, **lacking))
        assert machine(weak) == [("warning", "sandbox")]


def test_few_successes_are_told_once_there_are_enough_pages() -> None:
    def happened(succeeded: int, failed: int) -> object:
        nothing = Histogram()
        totals = Totals(
            since=0, until=1, attempts={}, succeeded=succeeded, failed=failed, retries=0, bytes=0,
            dead_letters=0, kinds={}, retried_kinds={}, failed_kinds={"dns": 1, "timeout": 9},
            fetch=nothing, wait=nothing, waits={},
        )  # fmt: skip
        return codes(of_success(totals))

    assert happened(15, 4) == []
    assert happened(16, 4) == []
    assert happened(15, 5) == [("warning", "success_rate")]


def test_the_worst_comes_first_and_texts_go_by_severity() -> None:
    found = [Finding(severity, "x", f"{severity.capitalize()}.", "do it.")
             for severity in reversed(Severity)]  # fmt: skip
    assert [one.severity for one in sorted_by_severity(found)] == list(Severity)
    assert texts(found, Severity.WARNING) == ["Warning: do it."]


@pytest.mark.parametrize(
    ("number", "shown"),
    [(0, "0.0 MB"), (400_000, "0.4 MB"), (512 * 2**20, "512 MB"), (2**30, "1.0 GB")],
)
def test_sizes_are_shown_in_megabytes_and_gigabytes(number: int, shown: str) -> None:
    assert megabytes(number) == shown


def test_the_documentation_lists_every_code() -> None:
    root = Path(__file__).parents[3]
    source = "".join(
        path.read_text() for path in (root / "src/curtsy/reports/findings").glob("*.py")
    )
    used = set(re.findall(r'Severity\.[A-Z]+,\s+f?"([a-z_{}]+)"', source))
    documented = set(re.findall(r"`([a-z_]+)`", (root / "docs/reference/findings.md").read_text()))
    assert len(used) > 10
    assert {code.replace("{what}", "worker") for code in used} <= documented
