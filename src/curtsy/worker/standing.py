"""How a source stands with us: its policy and pace, its host's health, whether it was given up."""

import random

import orjson

from curtsy.clock import Clock
from curtsy.frontier.lease import Lease
from curtsy.frontier.results import Release, Result, SourceReport
from curtsy.frontier.take import Visit
from curtsy.model.kinds import Kind
from curtsy.model.outcome import Failed
from curtsy.politeness.consequence import HostHealth
from curtsy.politeness.pace import Pace
from curtsy.politeness.policy import Policy
from curtsy.worker.results import judge

GUILTY_FROM = 3
"""So many workers died with a page in hand, and it is given up."""


class Standing:
    def __init__(self, lease: Lease, *, clock: Clock, defaults: Policy, rng: random.Random) -> None:
        self._lease, self._clock, self._defaults, self._rng = lease, clock, defaults, rng
        now = clock.monotonic()
        policy = defaults.with_overrides(lease.policy)
        self.pace = Pace(policy, next_at=now + lease.wait, resting=lease.fail_streak > 0)
        self._health = HostHealth(
            lease.fail_streak, lease.pace.get("announced", 0), lease.failing_since
        )
        self._policy, self._crawl_delay = policy, 0
        self.gave_up_at, self._gave_up_kind = lease.gave_up_at, lease.gave_up_kind
        self._rest_began = now

    @property
    def policy(self) -> Policy:
        return self.pace.policy

    def adopt_policy(self, overrides: dict[str, object]) -> None:
        self._policy = self._defaults.with_overrides(overrides)
        self.pace.policy = self._policy.at_least(self._crawl_delay)

    def mind_crawl_delay(self, asked: int) -> None:
        """Of several hosts behind one source, the slowest sets the pace."""
        if asked > self._crawl_delay:
            self._crawl_delay = asked
            self.pace.policy = self._policy.at_least(asked)

    def refusal(self, visit: Visit) -> Failed | None:
        """Why the visit ends without a request, if it does."""
        if visit.crashes >= GUILTY_FROM:
            return Failed(
                Kind.INTERNAL, f"The worker died {visit.crashes} times while it had this page."
            )
        if self.gave_up_at is not None and visit.created_at <= self.gave_up_at:
            kind = Kind(self._gave_up_kind or Kind.CONNECT)
            return Failed(kind, f"{self._lease.name} does not answer; it was given up.")
        return None

    def judge(self, result: Result, began: int) -> Result:
        """The result with what follows; what it says of the host holds from now on.

        Of requests that were open together when a host's trouble began, only the first counts.
        """
        judged = judge(result, policy=self.policy, health=self._health, rng=self._rng)
        news = began >= self._rest_began
        if judged.rest is None:
            self.pace.resting = False
            self._health = judged.health
        elif news:
            self._health = judged.health
            self._rest_began = self._clock.monotonic()
        if judged.rest is not None:
            self.pace.resting = True
            self.pace.rest(self._clock.monotonic() + judged.rest.wait)
        if judged.host_is_dead and isinstance(result.outcome, Failed):
            self.gave_up_at, self._gave_up_kind = result.ended_at, result.outcome.kind
        return judged.result

    def report(self, ranks: str, release: Release | None) -> SourceReport:
        ahead = self._clock.offset + self._clock.doubt
        return SourceReport(
            source_id=self._lease.source_id,
            epoch=self._lease.epoch,
            next_fetch_at=self.pace.next_at + ahead,
            delay_ms=max(self.policy.min_delay, self.policy.max_delay),
            ranks=ranks,
            pace=orjson.dumps({"announced": self._health.announced_streak}).decode(),
            fail_streak=self._health.fail_streak,
            failing_since=self._health.failing_since,
            gave_up_at=self.gave_up_at,
            gave_up_kind=self._gave_up_kind,
            release=release,
        )
