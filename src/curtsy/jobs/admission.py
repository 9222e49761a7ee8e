"""The transaction that takes jobs in: all of them, their items and the visits they need."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import orjson

from curtsy.access.quota import Quotas
from curtsy.clock import Clock
from curtsy.errors import BadRequest, OverLimit, StoreAway
from curtsy.events.stored_events import insert_events
from curtsy.events.webhooks import insert_deliveries
from curtsy.frontier.admit import Admission, Wanted, admit, places_for
from curtsy.frontier.crawls import begin_crawls
from curtsy.frontier.sources import known_hosts
from curtsy.jobs.idempotency import OtherHook, Submitted, adopt, give_back, keys_of, winner
from curtsy.jobs.insert import NewJob, insert_jobs, insert_tags
from curtsy.jobs.request import JobRequest, SubmitLimits
from curtsy.model.jobs import JobState
from curtsy.store import Connection, Statement

LONGEST_SUBMIT = 45_000
"""Lanes count on it that what a submit brings is visible so soon after it began (milliseconds)."""
_COUNT_CACHED = Statement(
    """
    UPDATE jobs SET done = w.cached, cached = w.cached FROM (SELECT * FROM {wanted}) w
    WHERE jobs.id = w.job_id
    """,
    wanted={"job_id": "bigint", "cached": "int"},
)
_FINISH = Statement(
    """
    UPDATE jobs SET state = 'succeeded', last_event = last_event + 1, started_at = :now,
        finished_at = :now
    WHERE id IN (SELECT job_id FROM {wanted})
    """,
    wanted={"job_id": "bigint"},
)


@dataclass(frozen=True, slots=True)
class Submission:
    request: JobRequest
    wanted: Sequence[Wanted]
    job: str
    """The name it gets, if it is taken in."""


Answers = dict[str, Submitted | Exception]
"""By the names that the jobs get."""


def admit_jobs(
    connection: Connection, asked: Sequence[Submission], limits: SubmitLimits,
    *, delay_ms: int, clock: Clock,
) -> Answers:  # fmt: skip
    """No two of them claim the same key."""
    now = clock.now()
    key_ids = {one.request.key_id for one in asked if one.request.key_id is not None}
    quotas = Quotas(connection, key_ids, now=now)
    answers: Answers = {}
    for one in sorted(asked, key=lambda one: keys_of(one.request)):  # one order for locks
        if (answer := _answered(connection, one, limits, quotas, now)) is not None:
            answers[one.job] = answer
    quotas.record(connection)
    new = [one for one in asked if one.job not in answers]
    if new:
        answers |= _admitted(connection, new, delay_ms, now)
    adopt(connection, [
        (answer.job, one.request) for one in asked
        if isinstance(answer := answers[one.job], Submitted) and answer.repeated
    ], now=now)  # fmt: skip
    if clock.now() - now > LONGEST_SUBMIT:
        raise StoreAway("the submit took too long; nothing was kept")
    return answers


def _answered(
    connection: Connection, one: Submission, limits: SubmitLimits, quotas: Quotas, now: int
) -> Submitted | Exception | None:
    """What needs no new job; None: it does."""
    try:
        _limit_new_sources(connection, one.wanted, limits.new_sources)
        first = winner(connection, one.request, one.job, lifetime=limits.key_lifetime, now=now)
        if first is None:
            _spend(quotas, one)
    except (BadRequest, OtherHook, OverLimit) as refused:
        give_back(connection, one.request, one.job)
        return refused
    return first


def _spend(quotas: Quotas, one: Submission) -> None:
    """A crawl counts with all the pages that it may come to."""
    crawl, key_id = one.request.crawl, one.request.key_id
    if crawl is None or not crawl.depth:
        quotas.spend(key_id, len(one.wanted))
        return
    try:
        quotas.spend(key_id, crawl.max_pages)
    except BadRequest as refused:
        raise BadRequest([f"{refused} Say fewer in params.max_pages."]) from None


def _limit_new_sources(connection: Connection, wanted: Sequence[Wanted], most: int) -> None:
    hosts = {page.host for page in wanted}
    if len(hosts) <= most:
        return
    new = len(hosts) - len(known_hosts(connection, hosts))
    if new > most:
        raise OverLimit(
            f"The job names {new} hosts never seen before; at most {most} may be in one job."
        )


def _admitted(
    connection: Connection, new: Sequence[Submission], delay_ms: int, now: int
) -> dict[str, Submitted]:
    rows = insert_jobs(
        connection, (NewJob(one.job, one.request, len(one.wanted)) for one in new), now=now
    )
    ids = {job: row.id for job, row in rows.items()}
    tags = [(tag, ids[one.job]) for one in new for tag in one.request.tags]
    insert_tags(connection, tags)
    admissions = [Admission(ids[one.job], one.wanted, one.request.max_age) for one in new]
    begin_crawls(
        connection,
        [(ids[one.job], one.request.crawl, one.wanted) for one in new if one.request.crawl],
    )
    every = chain.from_iterable(one.wanted for one in new)
    places = places_for(connection, every, delay_ms=delay_ms, now=now)
    cached = admit(connection, admissions, places, now=now)
    _begin(connection, admissions, cached, {row.id: row.last_event for row in rows.values()}, now)
    insert_deliveries(connection, [
        (ids[one.job], 1, one.request.webhook_url) for one in new
        if one.request.webhook_url and cached.get(ids[one.job]) == len(one.wanted)
    ], now=now)  # fmt: skip
    return {
        one.job: Submitted(one.job, len(one.wanted), cached.get(ids[one.job], 0)) for one in new
    }


def _begin(
    connection: Connection, admissions: Sequence[Admission], cached: dict[int, int],
    numbers: Mapping[int, int], now: int,
) -> None:  # fmt: skip
    """Each job's first event, and its last when everything it wants is there already; `numbers`
    are those of the first."""
    made: list[tuple[Any, ...]] = []
    finished: list[tuple[int]] = []
    for job_id, total in ((a.job_id, len(a.wanted)) for a in admissions):
        copies = cached.get(job_id, 0)
        queued = {"cached": copies, "job": [JobState.QUEUED, copies, 0, 0, total]}
        made.append((job_id, numbers[job_id], "job_queued", None, _json(queued)))
        if copies == total:
            finished.append((job_id,))
            end = {"round": 1, "job": [JobState.SUCCEEDED, total, 0, 0, total]}
            made.append((job_id, numbers[job_id] + 1, "job_finished", None, _json(end)))
    if cached:
        _COUNT_CACHED(connection, wanted=list(cached.items()))
    if finished:
        _FINISH(connection, wanted=finished, now=now)
    insert_events(connection, made, now=now)


def _json(facts: dict[str, object]) -> str:
    return orjson.dumps(facts).decode()
