"""The state of a leased source: policy, pace, health of its hosts, receipts."""

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import orjson

from curtsy.clock import DAY, Clock
from curtsy.frontier.batch import Release, Result, SourceReport
from curtsy.frontier.lease import Lease
from curtsy.frontier.take import Visit
from curtsy.model.failure_kinds import Kind
from curtsy.model.outcome import Failed, NotModified
from curtsy.model.urls import canonical
from curtsy.politeness.host_health import HostHealth, Hosts
from curtsy.politeness.pace import resumed
from curtsy.politeness.policy import Policy
from curtsy.politeness.receipt import Receipt
from curtsy.politeness.retry_rule import Rest
from curtsy.politeness.waits import Holds, Waited
from curtsy.worker.outcomes import HostTrouble, judge, postponed

GUILTY_FROM = 3
"""A page is given up after this many workers died while visiting it."""
MOST_OPEN_REPORTED = 100


class SourceState:
    def __init__(
        self, lease: Lease, *, clock: Clock, defaults: Policy, rng: random.Random, trust: int
    ) -> None:
        """`trust`: for how long an owner may start requests that it cannot report."""
        self._lease, self._clock, self._defaults, self._rng = lease, clock, defaults, rng
        now, kept = clock.monotonic(), lease.pace
        last = None if lease.paced is None else now - lease.paced
        self._policy = defaults.with_overrides(lease.policy)
        self._crawl_delay, self._crawl_delay_is_inherited = kept.get("crawl", 0), True
        self._free_since = now - lease.ready_for
        next_at = now + lease.wait if lease.wait else self._free_since
        self.pace = resumed(
            self._effective_policy(), kept, last=last, next_at=next_at, offset=clock.offset
        )
        if lease.unreported:
            self.pace.assume_unreported(now + lease.wait - lease.delay_ms, trust)
            self.pace.rest(now + lease.wait)
        if lease.ahead:
            self.pace.rest(now + lease.ahead)
        self.pace.resting = lease.fail_streak > 0
        self._holds = Holds.since((last or now) + clock.offset, kept.get("holds", ()))
        self._hosts = Hosts.resumed(kept, (last or now) + clock.offset)
        self._fail_streak, self._failing_since = lease.fail_streak, lease.failing_since
        self._rest_began = now
        self._rest_why: dict[str, Any] | None = kept.get("why")
        self._receipts = {lease.receipt.day: lease.receipt} if lease.receipt is not None else {}

    @property
    def policy(self) -> Policy:
        return self.pace.policy

    def adopt_policy(self, overrides: dict[str, object]) -> None:
        self._policy = self._defaults.with_overrides(overrides)
        self.pace.adopt(self._effective_policy())

    def apply_crawl_delay(self, requested: int | None) -> None:
        """Applies a host's crawl delay. With several hosts in one source, the longest counts."""
        delay = requested or 0
        if delay > self._crawl_delay or self._crawl_delay_is_inherited:
            self._crawl_delay, self._crawl_delay_is_inherited = delay, False
            self.pace.adopt(self._effective_policy())

    def _effective_policy(self) -> Policy:
        return self._policy.with_crawl_delay(self._crawl_delay)

    def refusal(self, visit: Visit) -> Failed | None:
        """Returns why the visit ends without a request; None: it needs one."""
        if visit.crashes >= GUILTY_FROM:
            return Failed(
                Kind.INTERNAL, f"The worker died {visit.crashes} times while it visited this page."
            )
        if not self._hosts.some_given_up:
            return None
        host = canonical(visit.url).host
        given_up = self._hosts.given_up(host)
        if given_up is not None and visit.created_at <= given_up.at:
            return Failed(Kind(given_up.kind), f"{host} does not answer; it was given up.")
        return None

    @property
    def gave_up(self) -> bool:
        """One of its hosts is given up, so visits may end without a request."""
        return self._hosts.some_given_up

    # The steps of a request: it starts, is sent, is answered, ends.

    def starting(self, visit: Visit) -> Waited:
        """The visit starts now; returns what it has waited for."""
        offset, now = self._clock.offset, self._clock.monotonic()
        could = visit.due_at if visit.due_at is not None else visit.created_at
        might = max(self.pace.next_at, self._free_since) + offset
        self._holds.add(max(could, might), now + offset, "capacity")
        self.pace.started()
        return self._holds.attribute(could, now + offset, self._policy.hours)

    def left(self) -> None:
        now = self._clock.monotonic()
        self._receipt(now).request_left(None if self.pace.last is None else now - self.pace.last)
        self.pace.sent(now, self._rng)

    def ended(self, *, was_sent: bool) -> None:
        now = self._clock.monotonic()
        self._free_since = now
        self.pace.ended(now, self._rng, was_sent=was_sent)

    def received(self, wire_bytes: int, *, robots: bool) -> None:
        """Counts the bytes of an answer; `robots`: the request was for robots.txt."""
        receipt = self._receipt()
        receipt.bytes += wire_bytes
        receipt.robots_requests += robots

    def judge(self, result: Result, began: int) -> Result:
        """Returns the result with its consequences, and updates the health of the host.

        Of the requests that were open when a host's failures began, only the first counts.
        """
        self._count(result)
        matters = bool(self._hosts) or isinstance(result.outcome, Failed)
        host = canonical(result.visit.url).host if matters else ""
        judged = judge(result, policy=self.policy, health=self._hosts.health(host), rng=self._rng,
                       answers_others=not self._fail_streak)  # fmt: skip
        counts = began >= self._rest_began
        if judged.trouble is not None and counts:
            self._record_trouble(judged.trouble, result, host)
        elif judged.trouble is not None:
            self.pace.rest(self._clock.monotonic() + judged.trouble.rest.wait)
            return postponed(result, judged.trouble.rest)
        elif counts and judged.answered:
            self._recovered()
            self._hosts.answered(host)
        return judged.result

    def _record_trouble(self, trouble: HostTrouble, result: Result, host: str) -> None:
        self._rest_began = self._clock.monotonic()
        assert isinstance(result.outcome, Failed)
        if trouble.health is None:
            self._hosts.give_up(host, result.ended_at, result.outcome.kind)
            self._recovered()
            return
        self._hosts.failed(host, trouble.health)
        if not self._fail_streak:
            self._failing_since = result.ended_at
        self._fail_streak += 1
        self._rest(trouble.rest, trouble.health, result, result.outcome)

    def _recovered(self) -> None:
        """The host answers again: requests continue at the usual pace."""
        self._fail_streak, self._failing_since = 0, None
        self.pace.resting, self._rest_why = False, None

    def _rest(self, rest: Rest, health: HostHealth, result: Result, failed: Failed) -> None:
        now = self._clock.monotonic()
        self.pace.resting = True
        self.pace.rest(now + rest.wait)
        self._holds.add(result.ended_at, result.ended_at + rest.wait, "backoff")
        receipt = self._receipt()
        as_asked = failed.retry_after is not None and 0 < rest.wait <= failed.retry_after
        of_proxies = {"proxies": failed.error} if failed.proxies_rest is not None else {}
        receipt.rests_announced += as_asked
        receipt.rests_of_our_own += not as_asked
        self._rest_why = {"announced": as_asked, "kind": failed.kind,
                          "status": failed.status, "url": result.visit.url,
                          "failures": health.streak(announced=rest.announced),
                          "given_up_after": health.limit(self.policy, announced=rest.announced),
                          } | of_proxies  # fmt: skip

    def _count(self, result: Result) -> None:
        if isinstance(result.outcome, NotModified):
            receipt = self._receipt()
            receipt.not_modified += 1
            receipt.bytes_saved += result.visit.wire_bytes or 0

    def refused(self) -> None:
        """Counts a page that robots.txt disallows: nothing was requested."""
        self._receipt().robots_refusals += 1

    def _receipt(self, now: int | None = None) -> Receipt:
        """Returns the receipt of the day, at that time of the monotonic clock."""
        if now is None:
            now = self._clock.monotonic()
        day = (now + self._clock.offset) // DAY
        receipt = self._receipts.get(day)
        if receipt is None:
            receipt = self._receipts[day] = Receipt(day)
        return receipt

    def report(self, ranks: str, is_open: Sequence[int], release: Release | None) -> SourceReport:
        pace, offset = self.pace, self._clock.offset
        ahead = offset + self._clock.doubt
        last = pace.last
        return SourceReport(
            source_id=self._lease.source_id,
            epoch=self._lease.epoch,
            next_fetch_at=pace.next_at + ahead,
            delay_ms=max(self.policy.min_delay, self.policy.max_delay),
            ranks=ranks,
            pace=orjson.dumps(self._pace_json(is_open)).decode(),
            paced_at=None if last is None else last + ahead,
            fail_streak=self._fail_streak,
            failing_since=self._failing_since,
            receipts=tuple(replace(receipt) for receipt in self._receipts.values()),
            release=release,
        )

    def _pace_json(self, is_open: Sequence[int]) -> dict[str, Any]:
        state: dict[str, Any] = self.pace.stored()
        if is_open:  # for display only: the next owner starts without open requests
            state["open"] = is_open[:MOST_OPEN_REPORTED]
        if self._crawl_delay:
            state["crawl"] = self._crawl_delay
        if self._rest_why is not None:
            state["why"] = self._rest_why
        if self.pace.last is not None:
            moment = self.pace.last + self._clock.offset
            state |= self._hosts.stored(moment)
            if holds := self._holds.before(moment):
                state["holds"] = holds
        return state
