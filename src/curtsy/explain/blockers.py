"""The reasons why a source's next request does not start now, as sentences and as data."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from curtsy.clock import SECOND, rfc3339
from curtsy.explain.outlook import SourceSnapshot
from curtsy.frontier.source_policy import DISABLED
from curtsy.model.roles import ANONYMOUS
from curtsy.politeness.pace import Rule
from curtsy.reports.workers import WorkerStatus, all_workers
from curtsy.store import Connection

LEASED_WITHIN = 2 * SECOND
"""A worker with a free slot leases a ready source within this time."""
NOTHING_TO_DO = "Nothing to do: the wait ends at that time."


@dataclass(frozen=True, slots=True)
class Blocker:
    """One reason to wait."""

    code: str
    because: str
    """A sentence."""
    until: int | None = None
    """None: the wait ends when somebody acts or another visit ends."""
    frees: str | None = None
    """What would end the wait."""
    data: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LiveWorkers:
    """The workers whose lease has not expired."""

    workers: Sequence[WorkerStatus]

    @classmethod
    def now(cls, connection: Connection, now: int) -> "LiveWorkers":
        return cls([worker for worker in all_workers(connection, now=now) if worker.alive])

    @property
    def accept_work(self) -> bool:
        """Whether at least one worker is not draining."""
        return any(not worker.draining for worker in self.workers)

    @property
    def in_flight(self) -> int:
        return sum(len(worker.in_flight) for worker in self.workers)

    @property
    def slots(self) -> int:
        return sum(worker.slots for worker in self.workers if not worker.draining)

    def blockers(self) -> Iterator[Blocker]:
        yield from self.manual_blockers()
        if self.workers and 0 < self.slots <= self.in_flight:
            yield Blocker("slots_busy", f"All {self.slots} request slots of the workers are in "
                          "use.",
                          frees="A request that ends, more workers, or a larger WORKER_SLOTS.",
                          data={"slots": self.slots, "in_flight": self.in_flight})  # fmt: skip

    def manual_blockers(self) -> Iterator[Blocker]:
        """The blockers that last until a person acts."""
        if not self.workers:
            yield Blocker("no_worker", "No worker is running, so nothing is fetched.",
                          frees="Start a worker: `curtsy up` or `curtsy worker`.")  # fmt: skip
        elif not self.accept_work:
            yield Blocker("workers_drain", "Every worker is shutting down and starts no new "
                          "requests.",
                          frees="Start a worker: `curtsy worker`.")  # fmt: skip


def source_blockers(snapshot: SourceSnapshot, workers: LiveWorkers, *, now: int) -> list[Blocker]:
    """All reasons of the source's own that hold now. None: a request starts as soon as a worker has
    a free slot."""
    waits = snapshot.pace.waits(now)
    return [
        *pause_blockers(snapshot),
        *_silent_owner(snapshot, workers),
        *(_by_rule(snapshot, rule, until, now) for rule, until in waits.items()),
        *_concurrency(snapshot),
        *(() if waits else _not_leased(snapshot, workers, now)),
    ]


def only_retries(pages: int, first_at: int) -> Blocker:
    """For a source where nothing but retries waits."""
    at = rfc3339(first_at)
    because = f"The only page that waits at this source waits for a retry until {at}."
    if pages > 1:
        because = f"All {pages} pages that wait at this source wait for retries from {at} on."
    return Blocker("retry", because, first_at, frees=NOTHING_TO_DO, data={"pages": pages})


def pause_blockers(snapshot: SourceSnapshot) -> Iterator[Blocker]:
    row = snapshot.row
    if row.paused and row.paused_by == DISABLED:
        yield Blocker("source_disabled", f"The policy of {row.name} has enabled = false.",
                      frees=f"`curtsy sources set {row.name} --enabled`.")  # fmt: skip
    elif row.paused:
        known = row.paused_by not in (None, ANONYMOUS)
        by = f" by {row.paused_by}" if known else ""
        yield Blocker("source_paused", f"{row.name} was paused{by}.",
                      frees=f"`curtsy sources resume {row.name}`.",
                      data={"by": row.paused_by or "somebody"})  # fmt: skip


def redacted(blocker: Blocker, source: str) -> Blocker:
    """The blocker for callers who may see neither the URLs nor the names of others."""
    match blocker.code:
        case "retry_after" | "backoff":
            until = f" until {rfc3339(blocker.until)}" if blocker.until is not None else ""
            data = {name: value for name, value in blocker.data.items() if name != "url"}
            return replace(blocker, because=f"{source} rests{until}.", data=data)
        case "source_paused":
            return replace(blocker, because=f"{source} was paused by an operator.", data={})
        case "owner_silent":
            because = f"The worker that holds {source} has stopped sending heartbeats."
            return replace(blocker, because=because, data={})
    return blocker


def _silent_owner(snapshot: SourceSnapshot, workers: LiveWorkers) -> Iterator[Blocker]:
    owner, live = snapshot.row.owner, workers.workers
    if owner is not None and live and all(worker.id != owner for worker in live):
        yield Blocker("owner_silent", f"Worker {owner} holds {snapshot.row.name} and has stopped "
                      "sending heartbeats; another worker takes over when its lease expires.",
                      frees="Nothing to do: the lease expires by itself.",
                      data={"worker": owner})  # fmt: skip


def _not_leased(snapshot: SourceSnapshot, workers: LiveWorkers, now: int) -> Iterator[Blocker]:
    row, ready_at = snapshot.row, snapshot.row.ready_at
    if row.owner is not None or row.paused or ready_at is None:
        return
    if workers.workers and not any(workers.blockers()) and ready_at <= now - LEASED_WITHIN:
        yield Blocker("not_taken", f"{row.name} has been ready since {rfc3339(ready_at)}, but no "
                      "worker has leased it: each holds as many sources as it may.",
                      frees="A worker that releases a source, more workers, or a larger "
                      "WORKER_SLOTS.",
                      data={"ready_since": rfc3339(ready_at)})  # fmt: skip


def _concurrency(snapshot: SourceSnapshot) -> Iterator[Blocker]:
    pace, name, open_here = snapshot.pace, snapshot.row.name, len(snapshot.open)
    most = 1 if pace.resting else pace.policy.concurrency
    if open_here >= most:
        frees = "The end of an open request, or a larger concurrency in the policy."
        if pace.resting:
            frees = "The end of the open request: after a failure, requests go one at a time."
        yield Blocker("concurrency", f"{open_here} of at most {most} requests to {name} are open.",
                      frees=frees, data={"open": open_here, "concurrency": most})  # fmt: skip


def _by_rule(snapshot: SourceSnapshot, rule: Rule, until: int, now: int) -> Blocker:
    name, policy, at = snapshot.row.name, snapshot.pace.policy, rfc3339(until)
    match rule:
        case "rest":
            return _rest(snapshot, until)
        case "delay":
            return _slow_hours(snapshot, until, now) or _delay(snapshot, until)
        case "hourly_limit":
            limit, used = policy.requests_per_hour, snapshot.pace.hour.total
            return Blocker("hourly_limit", f"{name} gets at most {limit} requests an hour and "
                           f"{policy.burst_limit} in a burst; the next may start at {at}.", until,
                           frees="A larger requests_per_hour or burst_limit in the policy.",
                           data={"requests_per_hour": limit, "used": used,
                                 "burst_limit": policy.burst_limit})  # fmt: skip
        case "closed_hours":
            zone = policy.hours.timezone if policy.hours is not None else "UTC"
            return Blocker("closed_hours", f"The respectful_hours of {name} ({zone}) allow no "
                           f"requests until {at}.", until,
                           frees="Other respectful_hours in the policy.",
                           data={"timezone": zone})  # fmt: skip


def _slow_hours(snapshot: SourceSnapshot, until: int, now: int) -> Blocker | None:
    """The blocker if respectful hours make the delay longer; else None."""
    name, hours = snapshot.row.name, snapshot.pace.policy.hours
    if hours is None or hours.closed or hours.slowdown == 1 or not hours.within(now):
        return None
    slow_until = rfc3339(hours.changes_at(now))
    return Blocker("slow_hours", f"The respectful_hours of {name} ({hours.timezone}) make every "
                   f"delay {hours.slowdown:g} times as long until {slow_until}; the next request "
                   f"may start at {rfc3339(until)}.", until,
                   frees="Other respectful_hours in the policy.",
                   data={"slowdown": hours.slowdown, "slow_until": slow_until,
                         "timezone": hours.timezone})  # fmt: skip


def _delay(snapshot: SourceSnapshot, until: int) -> Blocker:
    """The delay, named after what makes it as long as it is."""
    name, pace, at = snapshot.row.name, snapshot.pace, rfc3339(until)
    seconds = round(pace.delay() / SECOND, 3)
    spaced = f"{name} gets one request every {seconds:g} s; the next may start at {at}."
    data: dict[str, Any] = {"delay_seconds": seconds}
    if pace.strain.stretch > 1:
        recent, usual = round(pace.strain.recent), round(pace.strain.usual)
        return Blocker("slow_down", f"{name} answers in {recent} ms instead of the usual {usual} "
                       f"ms, so {spaced}", until,
                       frees="Faster answers from the site.",
                       data=data | {"answers_ms": recent, "usually_ms": usual})  # fmt: skip
    if pace.policy.min_delay > snapshot.policy.min_delay:
        return Blocker("crawl_delay", f"Because of the Crawl-delay in its robots.txt, {spaced}",
                       until, frees="In the policy, a smaller crawl_delay_cap_seconds or robots = "
                       '"ignore".',
                       data=data)  # fmt: skip
    return Blocker("delay", spaced, until, frees="A smaller min_delay_seconds in the policy.",
                   data=data)  # fmt: skip


def _rest(snapshot: SourceSnapshot, until: int) -> Blocker:
    row, why, at = snapshot.row, snapshot.stored_pace.get("why"), rfc3339(until)
    if snapshot.handed_over:
        return Blocker("handover", f"{row.name} gets no request until {at}: its last worker was "
                       "lost, or its hosts moved between sources, so a request may have left a "
                       "moment ago.", until,
                       frees="Nothing to do: the wait takes one lease.")  # fmt: skip
    if why is None:
        return Blocker("resting", f"{row.name} gets no request until {at}; the cause is no longer "
                       "stored.", until, frees=NOTHING_TO_DO)  # fmt: skip
    streak = why.get("failures", row.fail_streak)
    limit = why.get("given_up_after", snapshot.policy.give_up_probes)
    data = {name: value for name, value in why.items() if name != "proxies"}
    data |= {"failures": streak, "given_up_after": limit}
    if "proxies" in why:
        return Blocker("backoff", f"{row.name} rests until {at}: none of its proxies works. "
                       f"{why['proxies']}", until, frees="A proxy that works.",
                       data=data)  # fmt: skip
    if why["announced"]:
        status = f"{why['status']} " if why["status"] else ""
        return Blocker("retry_after", f"{row.name} asked us to wait until {at}: its {status}answer "
                       f"to {why['url']} had a Retry-After header.", until,
                       frees="The end of the wait that the site asked for.",
                       data=data)  # fmt: skip
    return Blocker("backoff", f"{row.name} rests until {at} after a failure ({why['kind']}) at "
                   f"{why['url']}; then one request tries the host again (failure {streak}, given "
                   f"up after {limit}).",
                   until, frees="An answer from the site to that request.", data=data)  # fmt: skip
