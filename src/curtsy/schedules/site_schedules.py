"""Sites and their schedules: declared together, run one at a time, forgotten together."""

from collections.abc import Callable, Mapping
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
from curtsy.jobs.request import check
from curtsy.model.jobs import new_job_id
from curtsy.model.roles import Caller
from curtsy.schedules.firer import run_prefix
from curtsy.schedules.lookup import find
from curtsy.schedules.schedule import ScheduleSpec, change, create, remove, spec_of
from curtsy.sites.runs import run_request
from curtsy.sites.site import Site, known_site, put_site, remove_site, require_idle, site
from curtsy.sites.spec import INTERVAL_MINUTES, SiteSpec
from curtsy.sources.file import Applied, hash_of
from curtsy.sources.policy_fields import PolicyFields
from curtsy.sources.source import put_source
from curtsy.store import Connection, Statement
from curtsy.timetable import Every, Rule

_SCHEDULE = Statement(  # held before the site, as whoever fires it does
    "SELECT public_id, site_id, of_site FROM schedules WHERE owner = '' AND name = :name {lock}"
)
_OF_HOST = Statement(
    """
    SELECT s.name, s.described, s.policy FROM hosts h JOIN sources s ON s.id = h.source_id
    WHERE h.host = :host
    """
)
_SOURCE = Statement("SELECT described, policy FROM sources WHERE name = :name")
_ANY = Every(INTERVAL_MINUTES)
"""Of a site that is scraped by hand: its runs are checked as if they came on a schedule."""
_OF_THE_FILE = Statement("SELECT name, described_as FROM sites WHERE described_as IS NOT NULL")


Check = Callable[[Connection, Mapping[str, Any], Any, int], None]
"""Raises `BadRequest` for a payload whose job would be refused."""


def declare(
    connection: Connection, name: str, words: SiteSpec, around: PolicyContext,
    *, check: Check, as_in_file: str | None = None,
) -> Site:  # fmt: skip
    """The site is so from now on, with its schedule; its host is paced as it says unless somebody
    described that host otherwise. Of a schedule that somebody changed, only what the words say of
    it changes again."""
    LOCK_DECLARATIONS(connection)
    known = _SCHEDULE(connection, name=name).one_or_none()
    before = known_site(connection, name)
    if before is not None and isinstance(before.said, BadRequest):
        before = None  # nobody knows what it said
    declared = put_site(connection, name, words, as_in_file=as_in_file, now=around.now)
    _pace(connection, declared, before, around)
    spec = ScheduleSpec(name=name, rule=words.rule() or _ANY, timezone=words.timezone,
                enabled=words.enabled, payload={"run": {"site_name": name}}, site_id=declared.id,
                of_site=True)  # fmt: skip
    if words.enabled:
        _check_runs(connection, declared, spec, check, around.now)
    own = known if known is not None and known.of_site else None
    somebodys = known is not None and own is None
    if words.rule() is None or (somebodys and not words.says_when):
        if own is not None:
            remove(connection, own.public_id, now=around.now)
    elif somebodys:
        raise WrongState(f"The name {name!r}", "another schedule's", "a site's as well")
    elif own is None:
        create(connection, spec, now=around.now)
    else:
        row = find(connection, own.public_id)
        kept = _kept(spec_of(row), spec, words, before)
        if words.enabled:
            kept = _searchable(connection, kept, spec, check, around.now)
        change(connection, row.public_id, kept, now=around.now)
    return declared


def _kept(
    was: ScheduleSpec, spec: ScheduleSpec, words: SiteSpec, before: Site | None
) -> ScheduleSpec:
    """What somebody said of the site's schedule stays: when its slots come, unless the words say
    that, and whether they do, unless the words say that otherwise than before."""
    kept = replace(was, site_id=spec.site_id)
    if words.says_when or (before is not None and _rule(before.words) == was.rule):
        kept = replace(kept, rule=spec.rule, timezone=spec.timezone)
    if before is None or before.words.enabled != words.enabled:
        kept = replace(kept, enabled=spec.enabled)
    return kept


def _rule(words: SiteSpec) -> Rule | None:
    with suppress(ValueError):  # its zone was known when it was declared
        return words.rule()
    return None


def _check_runs(
    connection: Connection, declared: Site, spec: ScheduleSpec, check: Check, now: int
) -> None:  # fmt: skip
    """Its runs would not be refused: those on its schedule as they are; one by hand, where a run
    has to be told something; and one of a country."""
    words = declared.words
    searches = [dict.fromkeys(words.needs({}), "x") if words.rule() is None else {}]
    if words.country_url is not None:
        searches.append(dict.fromkeys(words.needs({"country": "x"}), "x") | {"country": "x"})
    for search in searches:
        run = {"site_name": declared.name} | search
        check(connection, {"run": run}, spec, now)


def _searchable(
    connection: Connection, kept: ScheduleSpec, spec: ScheduleSpec, check: Check, now: int
) -> ScheduleSpec:  # fmt: skip
    """With what it is told to look for, if the site can still be searched by that."""
    try:
        check(connection, kept.payload, kept, now)
    except BadRequest:
        return replace(kept, payload=spec.payload)
    return kept


def _pace(
    connection: Connection, declared: Site, before: Site | None, around: PolicyContext
) -> None:
    """As its words say; not where somebody else has said how its host is to be treated."""
    host = declared.start.host
    of_host = _OF_HOST(connection, host=host).one_or_none()
    if of_host is None or not of_host.described:
        name = _free_name(connection, declared, before)
    elif of_host.name in (declared.name, host) and _is_ours(of_host, before):
        name = of_host.name
    else:
        return
    put_source(connection, name, _policy(declared), around)


def _is_ours(source: Any, before: Site | None) -> bool:
    """It is described as the site last said, and nobody has changed that."""
    return before is not None and orjson.loads(source.policy) == _policy(before).overrides()


def _free_name(connection: Connection, declared: Site, before: Site | None) -> str:
    """For the source of its host: the site's name, or where that describes another host, the
    host's own."""
    host = declared.start.host
    for name in (declared.name, host):
        source = _SOURCE(connection, name=name).one_or_none()
        if source is None or not source.described or _is_ours(source, before):
            return name
    sentence = f"The sources {declared.name} and {host} are described, but neither has {host}: "
    raise BadRequest([f"{sentence}describe a source that has it."])


def _policy(of: Site) -> PolicyFields:
    words = of.words
    return PolicyFields.model_validate({
        "hosts": [of.start.host], "min_delay_seconds": words.min_pause_seconds,
        "max_delay_seconds": words.max_pause_seconds, "max_retries": words.max_retries,
    })  # fmt: skip


def forget(connection: Connection, name: str, *, now: int) -> Site:
    """Its own schedule and its records go with it; its runs stay, and so does how its host is
    paced."""
    known = _SCHEDULE(connection, name=name).one_or_none()
    gone = remove_site(connection, name)
    if known is not None and known.of_site:
        remove(connection, known.public_id, now=now)
    return gone


def apply_sites(
    connection: Connection, sections: Mapping[str, SiteSpec], around: PolicyContext, check: Check
) -> Applied:
    """A section that is not as it was last time counts anew; what the file declared and has no
    section any more goes."""
    LOCK_DECLARATIONS(connection)
    known = {row.name: row.described_as for row in _OF_THE_FILE(connection)}
    removed = [name for name in sorted(known) if name not in sections]
    for name in removed:
        forget(connection, name, now=around.now)
    declared = []
    for name, words in sorted(sections.items()):
        hashed = hash_of(words)
        if known.get(name) != hashed:
            declare(connection, name, words, around, check=check, as_in_file=hashed)
            declared.append(name)
    return Applied(declared, removed)


def start_run(
    connection: Connection, name: str, said: Mapping[str, Any], *, priority: int | None,
    mode: str = "async", limits: SubmitLimits, delay_ms: int, clock: Clock, pending: Backlog,
    by: Caller,
) -> Submitted:  # fmt: skip
    """By hand. Whoever starts a run holds the site's row, so there is one at a time."""
    held = site(connection, name, holds=True)
    if not held.row.enabled:
        raise BadRequest([f"The site {name} is not enabled."])
    require_idle(connection, held, confined_to=by.confined_to)
    request = run_request(held, said, priority=priority, mode=mode)
    request = replace(request, user_id=by.user_id, key_id=by.key_id)
    job = new_job_id().replace("job_", run_prefix("manual"))
    wanted = check(request, limits)
    pending.add(by.user_id, len(wanted), limits)
    asked = Submission(request, wanted, job)
    answer = admit_jobs(connection, [asked], limits, delay_ms=delay_ms, clock=clock)[job]
    if isinstance(answer, Exception):
        raise answer
    return answer
