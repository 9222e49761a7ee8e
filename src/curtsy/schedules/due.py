"""A look at schedules that are due: what is known of each, and so what becomes of it."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from curtsy.clock import rfc3339
from curtsy.schedules.firings import Line
from curtsy.schedules.verdict import CatchUp, Overlap, ScheduleState, Verdict, judge
from curtsy.store import Connection, Statement
from curtsy.timetable import from_json

MOST_MISSED_TOLD = 100
"""Of one look at one schedule, with a row each; of more, the latest, and how many were before."""

MOST_BYTES_TOGETHER = 2**20

COLUMNS = """s.id, s.public_id, s.name, s.user_id, s.key_id, s.rule, s.timezone, s.payload,
             s.overlap, s.catch_up, s.window_ms, s.not_before, s.enabled, s.next_fire_at,
             s.waiting_fire_at, s.look_at, s.last_fire_at, s.first_job, s.site_id, s.described_as,
             s.of_site, s.created_at, s.updated_at"""

_LOCK_SITES = Statement(
    "SELECT id FROM sites WHERE id IN (SELECT id FROM {wanted}) ORDER BY id {lock}",
    wanted={"id": "bigint"},
)
_BUSY = Statement(
    """
    SELECT DISTINCT s.id FROM schedules s JOIN jobs j ON j.schedule_id = s.id
    WHERE s.id IN (SELECT id FROM {wanted}) AND j.schedule_id IS NOT NULL
      AND j.finished_at IS NULL AND j.state <> 'scheduled'
    """,
    wanted={"id": "bigint"},
)
_BUSY_SITES = Statement(
    """
    SELECT DISTINCT site_id FROM jobs
    WHERE site_id IN (SELECT id FROM {wanted}) AND site_id IS NOT NULL AND finished_at IS NULL
    """,
    wanted={"id": "bigint"},
)
_LAST_ENDS = Statement(
    """
    SELECT s.id, coalesce(j.finished_at, f.fired_at) AS at FROM schedules s
    JOIN firings f ON f.schedule_id = s.id AND f.fire_at = s.last_fire_at
    LEFT JOIN jobs j ON j.id = f.job_id
    WHERE s.id IN (SELECT id FROM {wanted})
    """,
    wanted={"id": "bigint"},
)


def together(due: Iterable[Any]) -> list[Any]:
    """As many as one transaction can bear: what their payloads say has to be read and taken in."""
    taken: list[Any] = []
    size = 0
    for row in due:
        size += len(row.payload)
        if taken and size > MOST_BYTES_TOGETHER:
            break
        taken.append(row)
    return taken


def verdicts(connection: Connection, rows: Sequence[Any], now: int) -> dict[int, Verdict]:
    sites = [(row.site_id,) for row in rows if row.site_id is not None]
    if sites:
        _LOCK_SITES(connection, wanted=sites).all()
    ids = [(row.id,) for row in rows]
    busy = set(_BUSY(connection, wanted=ids).scalars())
    busy_sites = set(_BUSY_SITES(connection, wanted=sites).scalars()) if sites else set()
    ends = {row.id: row.at for row in _LAST_ENDS(connection, wanted=ids)}
    found: dict[int, Verdict] = {}
    for row in rows:
        site_busy = row.site_id is not None and row.site_id in busy_sites
        known = schedule_state(row, is_busy=row.id in busy or site_busy, ended_at=ends.get(row.id))
        replaces = known.overlap is Overlap.CANCEL_RUNNING and row.id in busy
        if site_busy and known.overlap is not Overlap.QUEUE_ONE and not replaces:
            known = replace(known, overlap=Overlap.SKIP)  # whoever scrapes it, nobody does beside
        found[row.id] = verdict = judge(known, now)
        if verdict.fire is not None and not verdict.replaces and row.site_id is not None:
            busy_sites.add(row.site_id)
    return found


def schedule_state(row: Any, *, is_busy: bool, ended_at: int | None) -> ScheduleState:
    return ScheduleState(
        rule=from_json(row.rule), seed=row.public_id, overlap=Overlap(row.overlap),
        catch_up=CatchUp(row.catch_up), window=row.window_ms, next_fire_at=row.next_fire_at,
        waiting=row.waiting_fire_at, is_busy=is_busy,
        ended_at=max(ended_at or 0, row.last_fire_at or row.created_at),
    )  # fmt: skip


def lines(schedule_id: int, verdict: Verdict, now: int) -> Iterable[Line]:
    """The firings that a look comes to, whatever their outcome."""
    if verdict.long_missed is not None:
        until = rfc3339(now)
        message = f"Nobody kept the schedules; so were all slots that were too old at {until}."
        yield Line(schedule_id, verdict.long_missed, "schedule", "missed", message)
    untold = max(0, len(verdict.missed) - MOST_MISSED_TOLD)
    late = "Nobody kept the schedules at that moment"
    for n, at in enumerate(verdict.missed[untold:]):
        others = f", nor at the {untold} slots before it" if untold and n == 0 else ""
        yield Line(schedule_id, at, "schedule", "missed", f"{late}{others}.")
    if verdict.skipped is not None:
        goes_on = "The run before still went on."
        yield Line(schedule_id, verdict.skipped, "schedule", "skipped", goes_on)
    if verdict.waiting is not None:
        waits = "Waits for the run before to end."
        yield Line(schedule_id, verdict.waiting, "schedule", "waiting", waits)
    if verdict.fire is not None:
        yield Line(schedule_id, verdict.fire, "schedule", "fired", None)
