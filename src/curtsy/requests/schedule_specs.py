"""Builds schedule specs from request bodies, and checks their payloads."""

from dataclasses import replace
from datetime import datetime

from curtsy.clock import MINUTE
from curtsy.errors import BadRequest, NotAllowed
from curtsy.model.roles import Caller, Role
from curtsy.requests.payload_secrets import (
    require_no_references,
    with_references,
    with_stored_secrets,
)
from curtsy.requests.payloads import as_stored
from curtsy.requests.schedules import Payload, ScheduleChanges, ScheduleRequest, rule_of
from curtsy.schedules.firer import CheckPayload
from curtsy.schedules.schedule import ScheduleSpec
from curtsy.schedules.verdict import DEFAULT_WINDOW, CatchUp, Overlap
from curtsy.sites.site import find_site
from curtsy.store import Connection
from curtsy.timetable import BadRule, checked_zone


def new_spec(
    connection: Connection, body: ScheduleRequest, caller: Caller, check: CheckPayload, now: int, *,
    of_file: bool = False,
) -> ScheduleSpec:  # fmt: skip
    """With `of_file`, the operator's own file declares the schedule, and may refer to secrets."""
    payload = as_stored(body.payload)
    if of_file:
        payload = with_references(payload)
    else:
        require_no_references(payload)
    spec = ScheduleSpec(
        name=body.name or "", rule=rule_of(body),
        payload=payload, timezone=_zone(body.timezone or "UTC"),
        overlap=body.overlap or Overlap.SKIP, catch_up=body.catch_up or CatchUp.LATEST,
        window=(body.catch_up_minutes or DEFAULT_WINDOW // MINUTE) * MINUTE,
        not_before=_instant(body.not_before), enabled=body.enabled is not False,
        user_id=caller.user_id, key_id=caller.key_id,
    )  # fmt: skip
    return _checked(connection, spec, body.payload, caller, check, now)


def changed_spec(
    connection: Connection, body: ScheduleChanges, before: ScheduleSpec, caller: Caller,
    check: CheckPayload, now: int,
) -> ScheduleSpec:  # fmt: skip
    if before.of_site:
        _require_its_site(body, before.name)
    spec = replace(
        before, rule=rule_of(body, before.rule), name=body.name or before.name,
        timezone=_zone(body.timezone or before.timezone),
        overlap=body.overlap or before.overlap, catch_up=body.catch_up or before.catch_up,
        window=body.catch_up_minutes * MINUTE if body.catch_up_minutes else before.window,
        not_before=(_instant(body.not_before) if "not_before" in body.model_fields_set
                    else before.not_before),
        enabled=before.enabled if body.enabled is None else body.enabled,
        key_id=caller.key_id if caller.user_id == before.user_id else before.key_id,
    )  # fmt: skip
    if body.payload is None:
        return spec
    payload = with_stored_secrets(as_stored(body.payload), before.payload)
    require_no_references(payload)
    spec = replace(spec, payload=payload, site_id=None)
    return _checked(connection, spec, body.payload, caller, check, now)


def _require_its_site(body: ScheduleChanges, site_name: str) -> None:
    """Raises `BadRequest` for another name or site: a new declaration of the site finds the
    schedule by its name."""
    if body.name is not None:
        raise BadRequest([f"This schedule belongs to the site {site_name}: it cannot be renamed."])
    run = body.payload.run if body.payload is not None else None
    if body.payload is not None and (run is None or run.site_name != site_name):
        sentence = f"This schedule belongs to the site {site_name}: it can only run that site."
        raise BadRequest([sentence])


def _checked(
    connection: Connection, spec: ScheduleSpec, payload: Payload, caller: Caller,
    check: CheckPayload, now: int,
) -> ScheduleSpec:  # fmt: skip
    if payload.duty is not None and caller.role < Role.OPERATE:
        raise NotAllowed("A schedule of a maintenance task needs the role operate.")
    check(connection, spec.payload, spec, now)
    run = payload.run
    site_id = find_site(connection, run.site_name).id if run is not None else None
    return replace(spec, site_id=site_id)


def _zone(name: str) -> str:
    try:
        return checked_zone(name)
    except BadRule as wrong:
        raise BadRequest([str(wrong)]) from None


def _instant(moment: datetime | None) -> int | None:
    return int(moment.timestamp() * 1000) if moment is not None else None
