"""Declares and deletes sites together with their schedules, and starts runs of sites."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

import orjson

from curtsy.clock import Clock
from curtsy.errors import BadRequest, WrongState
from curtsy.frontier.host_moves import LOCK_DECLARATIONS
from curtsy.frontier.source_policy import PolicyContext
from curtsy.jobs import SubmitLimits, Submitted
from curtsy.jobs.admission import Submission, admit_jobs
from curtsy.jobs.backlog import Backlog
from curtsy.jobs.job_request import check
from curtsy.model.job_states import new_job_id
from curtsy.model.roles import Caller
from curtsy.schedules.firer import CheckPayload, run_prefix
from curtsy.schedules.lookup import find
from curtsy.schedules.schedule import ScheduleSpec, change, create, remove, spec_of
from curtsy.sites.runs import run_request
from curtsy.sites.site import Site, find_site, known_site, put_site, remove_site, require_idle
from curtsy.sites.spec import INTERVAL_MINUTES, SiteSpec
from curtsy.sources.file import Applied, hash_of
from curtsy.sources.policy_fields import PolicyFields
from curtsy.sources.source import put_source
from curtsy.store import Connection, Statement
from curtsy.timetable import Every, Rule

_LOCK_SCHEDULE = Statement(  # locked before the site, in the order of the firer
    "SELECT public_id, site_id, of_site FROM schedules WHERE owner = '' AND name = :name {lock}"
)
_OF_HOST = Statement(
    """
    SELECT s.name, s.described, s.policy FROM hosts h JOIN sources s ON s.id = h.source_id
    WHERE h.host = :host
    """
)
_SOURCE = Statement("SELECT described, policy FROM sources WHERE name = :name")
_ANY_RULE = Every(INTERVAL_MINUTES)
"""For sites without a schedule: their runs are checked as if they had one."""
_OF_THE_FILE = Statement("SELECT name, described_as FROM sites WHERE described_as IS NOT NULL")


def declare(
    connection: Connection, name: str, spec: SiteSpec, context: PolicyContext,
    *, check: CheckPayload, described_as: str | None = None,
) -> Site:  # fmt: skip
    """Creates or updates a site and its schedule, and sets the pace of its host unless that host is
    described otherwise. In a schedule that a user has changed, only the fields that the spec sets
    are overwritten."""
    LOCK_DECLARATIONS(connection)
    known = _LOCK_SCHEDULE(connection, name=name).one_or_none()
    before = known_site(connection, name)
    if before is not None and isinstance(before.parsed, BadRequest):
        before = None  # the old declaration cannot be read
    declared = put_site(connection, name, spec, described_as=described_as, now=context.now)
    _put_source(connection, declared, before, context)
    schedule = ScheduleSpec(
        name=name, rule=spec.rule() or _ANY_RULE, timezone=spec.timezone, enabled=spec.enabled,
        payload={"run": {"site_name": name}}, site_id=declared.id, of_site=True,
    )  # fmt: skip
    if spec.enabled:
        _check_runs(connection, declared, schedule, check, context.now)
    own = known if known is not None and known.of_site else None
    name_taken = known is not None and own is None
    if spec.rule() is None or (name_taken and not spec.declares_rule):
        if own is not None:
            remove(connection, own.public_id, now=context.now)
    elif name_taken:
        raise WrongState(f"The name {name!r}", "taken by another schedule", "used for a site")
    elif own is None:
        create(connection, schedule, now=context.now)
    else:
        row = find(connection, own.public_id)
        merged = _merge(spec_of(row), schedule, spec, before)
        if spec.enabled:
            merged = _with_valid_payload(connection, merged, schedule, check, context.now)
        change(connection, row.public_id, merged, now=context.now)
    return declared


def _merge(
    was: ScheduleSpec, declared: ScheduleSpec, spec: SiteSpec, before: Site | None
) -> ScheduleSpec:
    """Keeps the changes that users made to the site's schedule: its rule, unless the site's spec
    sets one, and whether it is enabled, unless the spec changes that."""
    merged = replace(was, site_id=declared.site_id)
    if spec.declares_rule or (before is not None and _rule(before.spec) == was.rule):
        merged = replace(merged, rule=declared.rule, timezone=declared.timezone)
    if before is None or before.spec.enabled != spec.enabled:
        merged = replace(merged, enabled=declared.enabled)
    return merged


def _rule(spec: SiteSpec) -> Rule | None:
    with suppress(ValueError):  # its time zone is not known any more
        return spec.rule()
    return None


def _check_runs(
    connection: Connection, declared: Site, schedule: ScheduleSpec, check: CheckPayload, now: int
) -> None:  # fmt: skip
    """Raises `BadRequest` if runs of the site would be refused: a run on its schedule, or for a
    site without one a run with the missing parameters; and a run for a country."""
    spec = declared.spec
    searches = [dict.fromkeys(spec.missing_fields({}), "x") if spec.rule() is None else {}]
    if spec.country_url is not None:
        missing = spec.missing_fields({"country": "x"})
        searches.append(dict.fromkeys(missing, "x") | {"country": "x"})
    for search in searches:
        run = {"site_name": declared.name} | search
        check(connection, {"run": run}, schedule, now)


def _with_valid_payload(
    connection: Connection, merged: ScheduleSpec, declared: ScheduleSpec, check: CheckPayload,
    now: int,
) -> ScheduleSpec:  # fmt: skip
    """Returns the schedule with its stored search parameters if the site still takes them."""
    try:
        check(connection, merged.payload, merged, now)
    except BadRequest:
        return replace(merged, payload=declared.payload)
    return merged


def _put_source(
    connection: Connection, declared: Site, before: Site | None, context: PolicyContext
) -> None:
    """Describes the source of the site's host, unless that source is described otherwise."""
    host = declared.start.host
    of_host = _OF_HOST(connection, host=host).one_or_none()
    if of_host is None or not of_host.described:
        name = _free_name(connection, declared, before)
    elif of_host.name in (declared.name, host) and _is_ours(of_host.policy, before):
        name = of_host.name
    else:
        return
    put_source(connection, name, _policy(declared), context)


def _is_ours(policy: str, before: Site | None) -> bool:
    """Whether a source's policy is the one that the site declared before."""
    return before is not None and orjson.loads(policy) == _policy(before).overrides()


def _free_name(connection: Connection, declared: Site, before: Site | None) -> str:
    """Returns a name for the source of the site's host: the site's name, or the host if a source of
    the site's name describes other hosts."""
    host = declared.start.host
    for name in (declared.name, host):
        source = _SOURCE(connection, name=name).one_or_none()
        if source is None or not source.described or _is_ours(source.policy, before):
            return name
    sentence = f"The sources {declared.name} and {host} are described, but neither has {host}: "
    raise BadRequest([f"{sentence}describe a source with that host."])


def _policy(site: Site) -> PolicyFields:
    spec = site.spec
    return PolicyFields.model_validate({
        "hosts": [site.start.host], "min_delay_seconds": spec.min_pause_seconds,
        "max_delay_seconds": spec.max_pause_seconds, "max_retries": spec.max_retries,
    })  # fmt: skip


def remove_with_schedule(connection: Connection, name: str, *, now: int) -> Site:
    """Deletes a site with its own schedule and its records. Its runs remain, and so does the policy
    of its host."""
    known = _LOCK_SCHEDULE(connection, name=name).one_or_none()
    removed = remove_site(connection, name)
    if known is not None and known.of_site:
        remove(connection, known.public_id, now=now)
    return removed


def apply_sites(
    connection: Connection, sections: Mapping[str, SiteSpec], context: PolicyContext,
    check: CheckPayload,
) -> Applied:  # fmt: skip
    """Declares the sites whose sections of the sites file have changed since it was last applied,
    and deletes the sites whose sections are gone."""
    LOCK_DECLARATIONS(connection)
    known = {row.name: row.described_as for row in _OF_THE_FILE(connection)}
    removed = [name for name in sorted(known) if name not in sections]
    for name in removed:
        remove_with_schedule(connection, name, now=context.now)
    declared = []
    for name, spec in sorted(sections.items()):
        hashed = hash_of(spec)
        if known.get(name) != hashed:
            declare(connection, name, spec, context, check=check, described_as=hashed)
            declared.append(name)
    return Applied(declared, removed)


def start_run(
    connection: Connection, name: str, search: Mapping[str, Any], *, priority: int | None,
    mode: str = "async", limits: SubmitLimits, delay_ms: int, clock: Clock, pending: Backlog,
    by: Caller,
) -> Submitted:  # fmt: skip
    """Submits a manual run. Every starter of a run locks the site's row, so runs of a site never
    overlap."""
    site = find_site(connection, name, lock=True)
    if not site.enabled:
        raise BadRequest([f"The site {name} is not enabled."])
    require_idle(connection, site, confined_to=by.confined_to)
    request = run_request(site, search, priority=priority, mode=mode)
    request = replace(request, user_id=by.user_id, key_id=by.key_id)
    job = new_job_id().replace("job_", run_prefix("manual"))
    wanted = check(request, limits)
    pending.add(by.user_id, len(wanted), limits)
    submission = Submission(request, wanted, job)
    answer = admit_jobs(connection, [submission], limits, delay_ms=delay_ms, clock=clock)[job]
    if isinstance(answer, Exception):
        raise answer
    return answer
