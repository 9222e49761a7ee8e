"""The transaction that admits submitted jobs: inserts the jobs, their items and their visits."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from curtsy.access.quota import Quotas
from curtsy.clock import Clock
from curtsy.errors import BadRequest, OverLimit, StoreAway
from curtsy.events.stored_events import (
    EventRow,
    JobProgress,
    event_call,
    event_row,
    insert_events,
)
from curtsy.events.webhooks import insert_deliveries
from curtsy.fetch import cookies
from curtsy.frontier.admit import Admission, Places, Wanted, admit, bands_of, places_for
from curtsy.frontier.cookie_jars import GIVEN, StoredJar, store_jars
from curtsy.frontier.crawls.leads import NewCrawl, insert_crawls
from curtsy.frontier.sources import known_hosts, standing_call
from curtsy.jobs.idempotency import (
    OtherWebhook,
    Submitted,
    add_webhooks_and_tags,
    claim_keys,
    keys_of,
    release_claims,
)
from curtsy.jobs.insert import NewJob, insert_tags, inserted_jobs, job_call
from curtsy.jobs.job_request import JobRequest, SubmitLimits
from curtsy.jobs.stored_pages import without_stored
from curtsy.model.job_states import JobState
from curtsy.store import Connection, Statement, together

LONGEST_SUBMIT = 45_000
"""Milliseconds. Lanes rely on it: the visits of a submit are visible so soon after it began."""
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
    """The public id of the job, if the job is admitted."""


Answers = dict[str, Submitted | Exception]
"""By public id of the submitted job."""


def admit_jobs(
    connection: Connection, submissions: Sequence[Submission], limits: SubmitLimits,
    *, delay_ms: int, clock: Clock,
) -> Answers:  # fmt: skip
    """Admits the submissions, no two of which claim the same key."""
    now = clock.now()
    submissions = [_without_stored(connection, submission) for submission in submissions]
    key_ids = {s.request.key_id for s in submissions if s.request.key_id is not None}
    quotas = Quotas(connection, key_ids, now=now)
    answers: Answers = {}
    for submission in sorted(submissions, key=lambda s: keys_of(s.request)):  # one order for locks
        answer = _answer_without_job(connection, submission, limits, quotas, now)
        if answer is not None:
            answers[submission.job] = answer
    quotas.record(connection)
    new = [submission for submission in submissions if submission.job not in answers]
    if new:
        answers |= _admit_new(connection, new, delay_ms, now)
    add_webhooks_and_tags(connection, [
        (answer.job, submission.request) for submission in submissions
        if isinstance(answer := answers[submission.job], Submitted) and answer.repeated
    ], now=now)  # fmt: skip
    if clock.now() - now > LONGEST_SUBMIT:
        raise StoreAway("the submit took too long; nothing was stored")
    return answers


def _without_stored(connection: Connection, submission: Submission) -> Submission:
    if not submission.request.new_only:
        return submission
    return replace(submission, wanted=without_stored(connection, submission.wanted))


def _answer_without_job(
    connection: Connection, submission: Submission, limits: SubmitLimits, quotas: Quotas, now: int
) -> Submitted | Exception | None:
    """The existing job of a repeated request, or why the request is refused; None: the submission
    needs a new job."""
    request, job = submission.request, submission.job
    try:
        _limit_new_sources(connection, submission.wanted, limits.new_sources)
        first = claim_keys(connection, request, job, lifetime=limits.key_lifetime, now=now)
        if first is None:
            _spend(quotas, submission)
    except (BadRequest, OtherWebhook, OverLimit) as refused:
        release_claims(connection, request, job)
        return refused
    return first


def _spend(quotas: Quotas, submission: Submission) -> None:
    """A crawl spends its `max_pages`."""
    crawl, key_id = submission.request.crawl, submission.request.key_id
    if crawl is None or not crawl.depth:
        quotas.spend(key_id, len(submission.wanted))
        return
    try:
        quotas.spend(key_id, crawl.max_pages)
    except BadRequest as refused:
        raise BadRequest([f"{refused} Lower params.max_pages."]) from None


def _limit_new_sources(connection: Connection, wanted: Sequence[Wanted], most: int) -> None:
    hosts = {page.host for page in wanted}
    if len(hosts) <= most:
        return
    new = len(hosts) - len(known_hosts(connection, hosts))
    if new > most:
        raise OverLimit(
            f"The job names {new} hosts never seen before; at most {most} may be in one job."
        )


def _admit_new(
    connection: Connection, new: Sequence[Submission], delay_ms: int, now: int
) -> dict[str, Submitted]:
    bands = bands_of(chain.from_iterable(s.wanted for s in new))
    jobs = [NewJob(s.job, s.request, len(s.wanted)) for s in new]
    inserted, standing = together(
        connection, job_call(jobs, now=now), standing_call(bands, now=now)
    )
    rows = inserted_jobs(inserted)
    ids = {job: row.id for job, row in rows.items()}
    insert_tags(connection, [(tag, ids[s.job]) for s in new for tag in s.request.tags])
    admissions = [Admission(ids[s.job], s.wanted, s.request.max_age) for s in new]
    insert_crawls(connection, list(_crawls(new, ids)), now=now)
    places = places_for(connection, bands, delay_ms=delay_ms, now=now, standing=standing)
    numbers = {row.id: row.last_event for row in rows.values()}
    cached = _admit_with_events(connection, admissions, places, numbers, now)
    store_jars(connection, _jars(new, ids), now=now)
    insert_deliveries(connection, [
        (ids[s.job], 1, s.request.webhook_url) for s in new
        if s.request.webhook_url and cached.get(ids[s.job], 0) == len(s.wanted)
    ], now=now)  # fmt: skip
    return {s.job: Submitted(s.job, len(s.wanted), cached.get(ids[s.job], 0)) for s in new}


def _jars(new: Sequence[Submission], ids: Mapping[str, int]) -> Iterator[StoredJar]:
    for submission in new:
        if (session := submission.request.session) is not None:
            job_id = ids[submission.job] if session.ends_with_job else None
            yield StoredJar(session.name, GIVEN, cookies.dump(session.cookies), job_id=job_id)


def _crawls(new: Sequence[Submission], ids: Mapping[str, int]) -> Iterator[NewCrawl]:
    for submission in new:
        request = submission.request
        if request.crawl is not None:
            schedule_id = request.origin.schedule_id if request.origin is not None else None
            yield NewCrawl(ids[submission.job], request.crawl, submission.wanted, request.scraper,
                           request.user_id, schedule_id)  # fmt: skip


def _admit_with_events(
    connection: Connection, admissions: Sequence[Admission], places: Places,
    numbers: Mapping[int, int], now: int,
) -> dict[int, int]:  # fmt: skip
    """Admits the pages and inserts each job's first event. Returns how many pages were fresh, by
    job. `numbers` are the numbers of the first events, by job id."""
    if all(a.wanted and a.max_age <= 0 for a in admissions):  # then no job ends at once
        events = [_first_event(a, 0, numbers) for a in admissions]
        return admit(connection, admissions, places, now=now, also=[event_call(events, now=now)])
    cached = admit(connection, admissions, places, now=now)
    _insert_first_events(connection, admissions, cached, numbers, now)
    return cached


def _first_event(admission: Admission, copies: int, numbers: Mapping[int, int]) -> EventRow:
    queued = JobProgress(JobState.QUEUED, copies, 0, 0, len(admission.wanted))
    job_id = admission.job_id
    return event_row(job_id, numbers[job_id], "job_queued", {"cached": copies}, queued)


def _insert_first_events(
    connection: Connection, admissions: Sequence[Admission], cached: dict[int, int],
    numbers: Mapping[int, int], now: int,
) -> None:  # fmt: skip
    """Inserts each job's first event. Also finishes the jobs whose pages were all fresh, with their
    last event."""
    events: list[EventRow] = []
    finished: list[tuple[int]] = []
    for admission in admissions:
        job_id, total = admission.job_id, len(admission.wanted)
        copies = cached.get(job_id, 0)
        events.append(_first_event(admission, copies, numbers))
        if copies == total:
            finished.append((job_id,))
            end = JobProgress(JobState.SUCCEEDED, total, 0, 0, total)
            number = numbers[job_id] + 1
            events.append(event_row(job_id, number, "job_finished", {"round": 1}, end))
    if cached:
        _COUNT_CACHED(connection, wanted=list(cached.items()))
    if finished:
        _FINISH(connection, wanted=finished, now=now)
    insert_events(connection, events, now=now)
