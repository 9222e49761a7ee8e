"""Why a source's next request does not start now: every reason, in words and in data."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from curtsy.clock import SECOND, rfc3339
from curtsy.explain.outlook import SourceSnapshot
from curtsy.frontier.source_policy import DISABLED
from curtsy.politeness.pace import Rule
from curtsy.reports.workers import WorkerStatus, all_workers
from curtsy.store import Connection

TAKEN_WITHIN = 2 * SECOND
"""So soon a ready source is leased, if anybody has room for it."""


@dataclass(frozen=True, slots=True)
class Blocker:
    code: str
    because: str
    """A sentence."""
    until: int | None = None
    """None: until somebody does something, or another visit ends."""
    frees: str | None = None
    """What would free it."""
    data: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class WorkersAtWork:
    """Who could do the work."""

    live: Sequence[WorkerStatus]

    @classmethod
    def now(cls, connection: Connection, now: int) -> "WorkersAtWork":
        return cls([worker for worker in all_workers(connection, now=now) if worker.alive])

    @property
    def at_work(self) -> bool:
        return any(not worker.draining for worker in self.live)

    @property
    def busy(self) -> int:
        return sum(len(worker.in_flight) for worker in self.live)

    @property
    def slots(self) -> int:
        return sum(worker.slots for worker in self.live if not worker.draining)

    def blockers(self) -> Iterator[Blocker]:
        yield from self.blockers_of_people()
        if self.live and 0 < self.slots <= self.busy:
            yield Blocker("slots_busy", f"All {self.slots} slots of the workers are busy.",
                          frees="A request that ends; more workers; a larger WORKER_SLOTS.",
                          data={"slots": self.slots, "in_flight": self.busy})  # fmt: skip

    def blockers_of_people(self) -> Iterator[Blocker]:
        """That do not go away by themselves."""
        if not self.live:
            yield Blocker("no_worker", "No worker is alive, so nothing is fetched.",
                          frees="Start one: `curtsy up` or `curtsy worker`.")  # fmt: skip
        elif not self.at_work:
            yield Blocker("workers_drain", "Every worker is about to stop and starts nothing more.",
                          frees="Start one: `curtsy worker`.")  # fmt: skip


def source_blockers(snapshot: SourceSnapshot, hands: WorkersAtWork, *, now: int) -> list[Blocker]:
    """All of the source's own that hold now; none: it starts as soon as a worker has a hand."""
    waits = snapshot.pace.waits(now)
    return [
        *paused(snapshot),
        *_orphaned(snapshot, hands),
        *(_of_rule(snapshot, rule, until, now) for rule, until in waits.items()),
        *_full(snapshot),
        *(() if waits else _not_taken(snapshot, hands, now)),
    ]


def waits_for_retries(pages: int, first_at: int) -> Blocker:
    """Where nothing but these waits."""
    return Blocker("retry", f"All {pages} that wait here are to be tried again, the first at "
                   f"{rfc3339(first_at)}." if pages > 1 else
                   f"The only page that waits here is to be tried again at {rfc3339(first_at)}.",
                   first_at, frees="Its time.", data={"pages": pages})  # fmt: skip


def paused(snapshot: SourceSnapshot) -> Iterator[Blocker]:
    row = snapshot.row
    if row.paused and row.paused_by == DISABLED:
        yield Blocker("source_disabled", f"{row.name} is not enabled in its policy.",
                      frees=f"`curtsy sources set {row.name} --enabled`.")  # fmt: skip
    elif row.paused:
        by = row.paused_by or "somebody"
        yield Blocker("source_paused", f"{row.name} is paused by {by}.",
                      frees=f"`curtsy sources resume {row.name}`.", data={"by": by})  # fmt: skip


def _orphaned(snapshot: SourceSnapshot, hands: WorkersAtWork) -> Iterator[Blocker]:
    owner = snapshot.row.owner
    if owner is not None and hands.live and all(worker.id != owner for worker in hands.live):
        yield Blocker("owner_silent", f"Worker {owner} holds {snapshot.row.name} and is silent; "
                      "another takes over when its lease is over.",
                      frees="Nothing to do: it takes one lease.",
                      data={"worker": owner})  # fmt: skip


def _not_taken(snapshot: SourceSnapshot, hands: WorkersAtWork, now: int) -> Iterator[Blocker]:
    row, busy = snapshot.row, any(hands.blockers())
    is_free = row.owner is None and not row.paused and row.ready_at is not None
    if is_free and hands.live and not busy and row.ready_at <= now - TAKEN_WITHIN:
        yield Blocker("not_taken", f"{row.name} is ready since {rfc3339(row.ready_at)}, and no "
                      "worker has taken it yet: each holds as many sources as it may.",
                      frees="A source that is given back; more workers; a larger WORKER_SLOTS.",
                      data={"ready_since": rfc3339(row.ready_at)})  # fmt: skip


def _full(snapshot: SourceSnapshot) -> Iterator[Blocker]:
    pace, name, open_here = snapshot.pace, snapshot.row.name, len(snapshot.open)
    most = 1 if pace.resting else pace.policy.concurrency
    if open_here >= most:
        yield Blocker("concurrency", f"{open_here} of at most {most} requests to {name} are open.",
                      frees="One that ends; a larger concurrency in its policy.",
                      data={"open": open_here, "concurrency": most})  # fmt: skip


def _of_rule(snapshot: SourceSnapshot, rule: Rule, until: int, now: int) -> Blocker:
    name, policy, at = snapshot.row.name, snapshot.pace.policy, rfc3339(until)
    match rule:
        case "rest":
            return _rest(snapshot, until)
        case "delay":
            return _in_slow_hours(snapshot, until, now) or _delay(snapshot, until)
        case "hourly_limit":
            limit, used = policy.requests_per_hour, snapshot.pace.hour.total
            return Blocker("hourly_limit", f"{name} gets at most {limit} requests an hour and "
                           f"{policy.burst_limit} in a burst; the next at {at}.", until,
                           frees="A larger requests_per_hour or burst_limit in its policy.",
                           data={"requests_per_hour": limit, "used": used,
                                 "burst_limit": policy.burst_limit})  # fmt: skip
        case "closed_hours":
            zone = policy.hours.timezone if policy.hours is not None else "UTC"
            return Blocker("closed_hours", f"{name} is closed until {at} ({zone}).", until,
                           frees="Other respectful_hours in its policy.",
                           data={"timezone": zone})  # fmt: skip


def _in_slow_hours(snapshot: SourceSnapshot, until: int, now: int) -> Blocker | None:
    """Where the wait is as long as it is because of them."""
    name, hours = snapshot.row.name, snapshot.pace.policy.hours
    if hours is None or hours.closed or hours.slowdown == 1 or not hours.within(now):
        return None
    slow_until = rfc3339(hours.changes_at(now))
    return Blocker("slow_hours", f"{name} is asked {hours.slowdown:g} times less often until "
                   f"{slow_until} ({hours.timezone}); the next at {rfc3339(until)}.", until,
                   frees="Other respectful_hours in its policy.",
                   data={"slowdown": hours.slowdown, "slow_until": slow_until,
                         "timezone": hours.timezone})  # fmt: skip


def _delay(snapshot: SourceSnapshot, until: int) -> Blocker:
    """By whichever of its causes the delay is as long as it is."""
    name, pace, at = snapshot.row.name, snapshot.pace, rfc3339(until)
    seconds = round(pace.delay() / SECOND, 3)
    data: dict[str, Any] = {"delay_seconds": seconds}
    if pace.strain.stretch > 1:
        recent, usual = round(pace.strain.recent), round(pace.strain.usual)
        return Blocker("slow_down", f"{name} takes {recent} ms to answer and usually {usual} ms, "
                       f"so it is asked only every {seconds:g} s; the next at {at}.", until,
                       frees="Quicker answers of the site.",
                       data=data | {"answers_ms": recent, "usually_ms": usual})  # fmt: skip
    if pace.policy.min_delay > snapshot.policy.min_delay:
        return Blocker("crawl_delay", f"The robots.txt of {name} asks for a request every "
                       f"{seconds:g} s at most; the next at {at}.", until,
                       frees="In its policy, a smaller crawl_delay_cap_seconds, or robots = "
                       '"ignore".',
                       data=data)  # fmt: skip
    return Blocker("delay", f"{name} is asked every {seconds:g} s; the next at {at}.", until,
                   frees="A smaller min_delay_seconds in its policy.", data=data)  # fmt: skip


def _rest(snapshot: SourceSnapshot, until: int) -> Blocker:
    row, why, at = snapshot.row, snapshot.kept.get("why"), rfc3339(until)
    probes = snapshot.policy.give_up_probes
    if snapshot.handed_over:
        return Blocker("handover", f"{row.name} is left alone until {at}: who asked it last was "
                       "lost, or its hosts were grouped anew, and may have asked a moment ago.",
                       until, frees="Nothing to do: it takes one lease.")  # fmt: skip
    if why is None:
        return Blocker("resting", f"{row.name} is left alone until {at}.", until)
    streak = why.get("failures", row.fail_streak)
    data = why | {"failures": streak, "given_up_after": probes}
    if why["announced"]:
        status = f"{why['status']} " if why["status"] else ""
        return Blocker("retry_after", f"{row.name} asked us to wait until {at}: its answer {status}"
                       f"to {why['url']} had a Retry-After.", until,
                       frees="The time that the site asked for.", data=data)  # fmt: skip
    return Blocker("backoff", f"{row.name} rests until {at} after {why['kind']} at {why['url']}; "
                   f"then one request tries it again (failure {streak}, given up after {probes}).",
                   until, frees="An answer from the site.", data=data)  # fmt: skip


def without_names(blocker: Blocker, source: str) -> Blocker:
    """The same for one who may not learn what others ask for, nor who they are."""
    match blocker.code:
        case "retry_after" | "backoff":
            until = f" until {rfc3339(blocker.until)}" if blocker.until is not None else ""
            data = {name: value for name, value in blocker.data.items() if name != "url"}
            return replace(blocker, because=f"{source} rests{until}.", data=data)
        case "source_paused":
            return replace(blocker, because=f"{source} is paused by an operator.", data={})
        case "owner_silent":
            return replace(blocker, because=f"Whoever holds {source} is silent.", data={})
    return blocker
