"""Creates, changes, pauses, runs and deletes schedules."""

import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import orjson

from curtsy.clock import rfc3339
from curtsy.errors import BadRequest, OverLimit, WrongState
from curtsy.jobs.insert import set_due
from curtsy.schedules.firer import Fired, Firer, cancel_if_open
from curtsy.schedules.firings import NewFiring, claim, delete_of, skip_waiting
from curtsy.schedules.lookup import Schedule, find, locked
from curtsy.schedules.overlap import require_none_running
from curtsy.schedules.verdict import DEFAULT_WINDOW, CatchUp, Overlap, first_slot
from curtsy.sites.site import lock_idle
from curtsy.store import Connection, Statement
from curtsy.timetable import BadRule, Once, Rule, from_json, to_json

ID = re.compile(r"sch_[0-9a-f]{12}")
MOST_PAYLOAD_BYTES = 2 * 2**20
MOST_OF_USER = 1_000
CHANGED = "The schedule was changed."

_INSERT = Statement(
    """
    INSERT INTO schedules (public_id, name, user_id, owner, key_id, rule, timezone, payload,
        overlap, catch_up, window_ms, not_before, enabled, next_fire_at, look_at, first_job,
        site_id, of_site, described_as, created_at, updated_at)
    VALUES (:public_id, :name, :user_id, :owner, :key_id, :rule, :timezone, :payload, :overlap,
        :catch_up, :window_ms, :not_before, :enabled, :next_fire_at, :look_at, :first_job,
        :site_id, :of_site, :described_as, :now, :now)
    ON CONFLICT (owner, name) DO NOTHING RETURNING id
    """
)
_COUNT = Statement(
    "SELECT count(*) FROM (SELECT 1 FROM schedules WHERE user_id = :user LIMIT :most) AS counted"
)
_UPDATE = Statement(
    """
    UPDATE schedules SET name = :name, rule = :rule, timezone = :timezone, payload = :payload,
        overlap = :overlap, catch_up = :catch_up, window_ms = :window_ms,
        not_before = :not_before, enabled = :enabled, key_id = :key_id,
        next_fire_at = :next_fire_at,
        look_at = :look_at, waiting_fire_at = :waiting_fire_at, first_job = :first_job,
        site_id = :site_id, of_site = :of_site,
        described_as = :described_as, updated_at = :now
    WHERE id = :id
    """
)
_SAME_NAME = Statement(
    "SELECT id FROM schedules WHERE owner = :owner AND name = :name AND id <> :id"
)
_DELETE = Statement("DELETE FROM schedules WHERE id = :id")
_SET_LAST_FIRE = Statement("UPDATE schedules SET last_fire_at = :at WHERE id = :id")


@dataclass(frozen=True, slots=True)
class ScheduleSpec:
    """The declaration of a schedule."""

    name: str
    """Empty: the schedule's id becomes its name."""
    rule: Rule
    payload: Mapping[str, Any]
    timezone: str = "UTC"
    overlap: Overlap = Overlap.SKIP
    catch_up: CatchUp = CatchUp.LATEST
    window: int = DEFAULT_WINDOW
    not_before: int | None = None
    enabled: bool = True
    user_id: str | None = None
    key_id: int | None = None
    site_id: int | None = None
    of_site: bool = False
    """The declaration of a site created the schedule, and the two are deleted together."""
    described_as: str | None = None


def new_schedule_id() -> str:
    return f"sch_{secrets.token_hex(6)}"


def create(
    connection: Connection, spec: ScheduleSpec, *, now: int, first_job: str | None = None,
    public_id: str | None = None,
) -> Schedule:  # fmt: skip
    """Inserts a schedule and returns it. Refuses a rule without a future slot."""
    name = public_id or new_schedule_id()
    _check_name(spec.name)
    _check_size(spec)
    _check_number(connection, spec.user_id)
    first = _first_slot(spec, name, now)
    onward = first if spec.enabled else None
    columns = _columns(spec) | {"name": spec.name or name}
    inserted = _INSERT(
        connection, public_id=name, first_job=first_job, now=now, user_id=spec.user_id,
        owner=spec.user_id or "", key_id=spec.key_id, next_fire_at=onward, look_at=onward,
        **columns,
    ).scalar()  # fmt: skip
    if inserted is None:
        raise WrongState(f"The name {spec.name!r}", "taken by another schedule", "used twice")
    return find(connection, name)


def _check_name(name: str) -> None:
    if ID.fullmatch(name):
        raise BadRequest([f"{name!r} looks like the id of a schedule: choose another name."])
    if name in (".", ".."):
        raise BadRequest([f"{name!r} cannot be a name: it would vanish from the path of a URL."])


def _check_size(spec: ScheduleSpec) -> None:
    if (size := len(orjson.dumps(spec.payload))) > MOST_PAYLOAD_BYTES:
        sentence = f"The payload has {size} bytes, but at most {MOST_PAYLOAD_BYTES} are allowed."
        raise BadRequest([sentence])


def _check_number(connection: Connection, user: str | None) -> None:
    most = MOST_OF_USER
    if user is not None and _COUNT(connection, user=user, most=most).scalar() == most:
        raise OverLimit(f"{user} has {most} schedules, the most that a user may have.")


def change(connection: Connection, schedule: str, spec: ScheduleSpec, *, now: int) -> Schedule:
    """Updates a schedule to this spec and returns it. Slots that passed while the schedule was
    paused never fire."""
    row = locked(connection, schedule)
    if spec.name != row.name:
        _check_name(spec.name)
        if _SAME_NAME(connection, name=spec.name, id=row.id, owner=row.user_id or "").scalar():
            raise WrongState(f"The name {spec.name!r}", "taken by another schedule", "used twice")
    _check_size(spec)
    first_job = _first_job(connection, row, spec, now)
    same_slots = (row.enabled and spec.enabled and to_json(spec.rule) == row.rule
                  and spec.not_before == row.not_before)  # fmt: skip
    onward, look_at, waiting = row.next_fire_at, row.look_at, row.waiting_fire_at
    if not same_slots:
        onward = look_at = _next(row, spec, now)
        waiting = None
        skip_waiting(connection, row.id, CHANGED, now=now)
        if row.next_fire_at is not None and row.next_fire_at <= now:
            missed = NewFiring(row.id, row.next_fire_at, "schedule", "missed", CHANGED)
            claim(connection, [missed], now=now)
    _UPDATE(connection, id=row.id, now=now, next_fire_at=onward, look_at=look_at,
            waiting_fire_at=waiting, first_job=first_job, key_id=spec.key_id,
            **_columns(spec))  # fmt: skip
    if first_job:
        set_due(connection, first_job, onward)
    return find(connection, row.public_id)


def _first_job(connection: Connection, row: Schedule, spec: ScheduleSpec, now: int) -> str | None:
    """Returns the waiting first job if the payload stays the same; else cancels that job, and the
    slot submits a new one."""
    if row.first_job is None or spec.payload == orjson.loads(row.payload):
        return row.first_job
    cancel_if_open(connection, row.first_job, now=now, reason=CHANGED)
    return None


def set_enabled(connection: Connection, row: Schedule, *, enabled: bool, now: int) -> Schedule:
    """Pauses or resumes a schedule whose row is locked."""
    spec = replace(spec_of(row), enabled=enabled)
    return change(connection, row.public_id, spec, now=now)


def remove(connection: Connection, schedule: str, *, now: int) -> Schedule:
    """Deletes a schedule and its firings, and returns it. Cancels the job that waits for the first
    slot; running jobs continue."""
    row = locked(connection, schedule)
    if row.first_job:
        cancel_if_open(connection, row.first_job, now=now)
    delete_of(connection, row.id)
    _DELETE(connection, id=row.id)
    return row


def run_now(
    connection: Connection, schedule: str, firer: Firer, *, now: int, priority: int | None = None
) -> Fired:
    """Runs a schedule now, whatever its rule says, and leaves its slots unchanged. A run that this
    one replaces must be cancelled before (`overlap.replace_manually`)."""
    row = locked(connection, schedule)
    require_none_running(connection, row)
    if row.site_id is not None:
        lock_idle(connection, row.site_id, confined_to=row.user_id)
    at = now
    while at in (row.next_fire_at, row.waiting_fire_at) or not claim(
        connection, [NewFiring(row.id, at, "manual", "fired", None)], now=now
    ):
        at += 1  # this instant is a slot already
    _SET_LAST_FIRE(connection, id=row.id, at=at)
    (fired,) = firer.fire(connection, [(row, at)], now=now, trigger="manual", priority=priority)
    if fired.refusal is not None:
        raise fired.refusal
    return fired


def spec_of(row: Schedule) -> ScheduleSpec:
    return ScheduleSpec(
        name=row.name, rule=from_json(row.rule), payload=orjson.loads(row.payload),
        timezone=row.timezone, overlap=Overlap(row.overlap), catch_up=CatchUp(row.catch_up),
        window=row.window_ms, not_before=row.not_before, enabled=row.enabled,
        user_id=row.user_id, key_id=row.key_id, site_id=row.site_id, of_site=row.of_site,
        described_as=row.described_as,
    )  # fmt: skip


def _next(row: Schedule, spec: ScheduleSpec, now: int) -> int | None:
    """The next slot of a changed schedule. A schedule that is only paused may have no slot left."""
    if not spec.enabled and to_json(spec.rule) == row.rule:
        return None
    first = _first_slot(spec, row.public_id, now)
    return first if spec.enabled else None


def _first_slot(spec: ScheduleSpec, seed: str, now: int) -> int:
    try:
        first = first_slot(spec.rule, seed, now=now, not_before=spec.not_before)
    except BadRule as wrong:  # the zone is no longer known
        raise BadRequest([str(wrong)]) from None
    if first is None:
        named = f"The schedule {spec.name!r}" if spec.name else "The schedule"
        raise BadRequest([f"{named} would never fire: {_why(spec, now)}."])
    return first


def _why(spec: ScheduleSpec, now: int) -> str:
    if not isinstance(spec.rule, Once):
        return "its rule has no slot left"
    at = rfc3339(spec.rule.at)
    if spec.rule.at <= now or spec.not_before is None:
        return f"{at} is in the past"
    return f"{at} is before {rfc3339(spec.not_before)}, its not_before"


def _columns(spec: ScheduleSpec) -> dict[str, Any]:
    return {
        "name": spec.name, "rule": to_json(spec.rule), "timezone": spec.timezone,
        "payload": orjson.dumps(spec.payload).decode(), "overlap": spec.overlap.value,
        "catch_up": spec.catch_up.value, "window_ms": spec.window,
        "not_before": spec.not_before, "enabled": spec.enabled, "site_id": spec.site_id,
        "of_site": spec.of_site, "described_as": spec.described_as,
    }  # fmt: skip
