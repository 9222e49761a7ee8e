"""Judges due schedules: reads the state of each and decides what becomes of its slots."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from curtsy.clock import rfc3339
from curtsy.model.counts import counted
from curtsy.schedules.firings import NewFiring
from curtsy.schedules.lookup import Schedule, schedule_of
from curtsy.schedules.verdict import CatchUp, Overlap, ScheduleState, Verdict, judge
from curtsy.store import Connection, Statement
from curtsy.timetable import from_json

MOST_MISSED_STORED = 100
"""Missed slots of one schedule that get a row each, the latest first; the row of the earliest of
them counts the others."""
MOST_BYTES_TOGETHER = 2**20
"""Payloads that one transaction reads and admits."""

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


def limit_batch(due: Iterable[Any]) -> list[Schedule]:
    """Returns the first of these rows whose payloads fit in one transaction, at least one row."""
    batch: list[Schedule] = []
    size = 0
    for row in due:
        size += len(row.payload)
        if batch and size > MOST_BYTES_TOGETHER:
            break
        batch.append(schedule_of(row))
    return batch


def verdicts(connection: Connection, rows: Sequence[Schedule], now: int) -> dict[int, Verdict]:
    """Locks the sites of these schedules and returns the verdict on each schedule, by id."""
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
        state = schedule_state(row, is_busy=row.id in busy or site_busy, ended_at=ends.get(row.id))
        replaces = state.overlap is Overlap.CANCEL_RUNNING and row.id in busy
        if site_busy and state.overlap is not Overlap.QUEUE_ONE and not replaces:
            state = replace(state, overlap=Overlap.SKIP)  # two runs of a site never overlap
        found[row.id] = verdict = judge(state, now)
        if verdict.fire is not None and not verdict.replaces and row.site_id is not None:
            busy_sites.add(row.site_id)
    return found


def schedule_state(row: Schedule, *, is_busy: bool, ended_at: int | None) -> ScheduleState:
    return ScheduleState(
        rule=from_json(row.rule), seed=row.public_id, overlap=Overlap(row.overlap),
        catch_up=CatchUp(row.catch_up), window=row.window_ms, next_fire_at=row.next_fire_at,
        waiting=row.waiting_fire_at, is_busy=is_busy,
        ended_at=max(ended_at or 0, row.last_fire_at or row.created_at),
    )  # fmt: skip


def firings_of(schedule_id: int, verdict: Verdict, now: int) -> Iterable[NewFiring]:
    """Returns the firings that a verdict results in, whatever their outcome."""
    if verdict.long_missed is not None:
        until = rfc3339(now)
        message = f"No scheduler was running, nor at any later slot that was too old at {until}."
        yield NewFiring(schedule_id, verdict.long_missed, "schedule", "missed", message)
    unlisted = max(0, len(verdict.missed) - MOST_MISSED_STORED)
    late = "No scheduler was running at that time"
    for n, at in enumerate(verdict.missed[unlisted:]):
        others = (
            f", nor at the {counted(unlisted, 'slot')} before it" if unlisted and n == 0 else ""
        )
        yield NewFiring(schedule_id, at, "schedule", "missed", f"{late}{others}.")
    if verdict.skipped is not None:
        busy = "The previous run was still running."
        yield NewFiring(schedule_id, verdict.skipped, "schedule", "skipped", busy)
    if verdict.waiting is not None:
        waits = "Waits for the previous run to end."
        yield NewFiring(schedule_id, verdict.waiting, "schedule", "waiting", waits)
    if verdict.fire is not None:
        yield NewFiring(schedule_id, verdict.fire, "schedule", "fired", None)
