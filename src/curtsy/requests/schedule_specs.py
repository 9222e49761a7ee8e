"""From what is said of a schedule to a plan for it, with its payload checked."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from curtsy.clock import MINUTE
from curtsy.errors import BadRequest, NotAllowed
from curtsy.model.roles import Caller, Role
from curtsy.requests.payloads import as_stored
from curtsy.requests.schedules import Payload, ScheduleChanges, ScheduleRequest, rule_of
from curtsy.schedules.schedule import ScheduleSpec
from curtsy.schedules.verdict import DEFAULT_WINDOW, CatchUp, Overlap
from curtsy.sites.site import site
from curtsy.store import Connection
from curtsy.timetable import BadRule, checked_zone

CheckPayload = Callable[[Connection, Mapping[str, Any], Any, int], None]
"""Raises `BadRequest` for a payload whose job would be refused."""


def new_spec(
    connection: Connection, asked: ScheduleRequest, caller: Caller, check: CheckPayload, now: int
) -> ScheduleSpec:
    spec = ScheduleSpec(
        name=asked.name or "", rule=rule_of(asked),
        payload=as_stored(asked.payload), timezone=_zone(asked.timezone or "UTC"),
        overlap=asked.overlap or Overlap.SKIP, catch_up=asked.catch_up or CatchUp.LATEST,
        window=(asked.catch_up_minutes or DEFAULT_WINDOW // MINUTE) * MINUTE,
        not_before=_instant(asked.not_before), enabled=asked.enabled is not False,
        user_id=caller.user_id, key_id=caller.key_id,
    )  # fmt: skip
    return _checked(connection, spec, asked.payload, caller, check, now)


def changed_spec(
    connection: Connection, asked: ScheduleChanges, before: ScheduleSpec, caller: Caller,
    check: CheckPayload, now: int,
) -> ScheduleSpec:  # fmt: skip
    if before.of_site:
        _require_its_site(asked, before.name)
    spec = replace(
        before, rule=rule_of(asked, before.rule), name=asked.name or before.name,
        timezone=_zone(asked.timezone or before.timezone),
        overlap=asked.overlap or before.overlap, catch_up=asked.catch_up or before.catch_up,
        window=asked.catch_up_minutes * MINUTE if asked.catch_up_minutes else before.window,
        not_before=(_instant(asked.not_before) if "not_before" in asked.model_fields_set
                    else before.not_before),
        enabled=before.enabled if asked.enabled is None else asked.enabled,
        key_id=caller.key_id if caller.user_id == before.user_id else before.key_id,
    )  # fmt: skip
    if asked.payload is None:
        return spec
    spec = replace(spec, payload=as_stored(asked.payload), site_id=None)
    return _checked(connection, spec, asked.payload, caller, check, now)


def _require_its_site(asked: ScheduleChanges, site_name: str) -> None:
    """Whoever declares the site again finds its schedule by its name, and what it runs."""
    if asked.name is not None:
        raise BadRequest([f"This schedule is the site's own: it is called {site_name}."])
    run = asked.payload.run if asked.payload is not None else None
    if asked.payload is not None and (run is None or run.site_name != site_name):
        sentence = f"This schedule is the site's own: it runs {site_name}, and nothing else."
        raise BadRequest([sentence])


def _checked(
    connection: Connection, spec: ScheduleSpec, payload: Payload, caller: Caller,
    check: CheckPayload, now: int,
) -> ScheduleSpec:  # fmt: skip
    if payload.duty is not None and caller.role < Role.OPERATE:
        raise NotAllowed("A schedule of a duty needs the role operate.")
    check(connection, spec.payload, spec, now)
    of = site(connection, payload.run.site_name).id if payload.run is not None else None
    return replace(spec, site_id=of)


def _zone(name: str) -> str:
    try:
        return checked_zone(name)
    except BadRule as wrong:
        raise BadRequest([str(wrong)]) from None


def _instant(moment: Any) -> int | None:
    return int(moment.timestamp() * 1000) if moment is not None else None
