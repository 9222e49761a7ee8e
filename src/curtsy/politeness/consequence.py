"""What follows when a visit fails: try the page again, rest the host, or give up."""

import random
from dataclasses import dataclass, replace

from curtsy.model.kinds import RULES
from curtsy.model.outcome import Failed
from curtsy.politeness.policy import Policy

ANNOUNCED_AT_MOST = 24
"""So many announced rests in a row without one success, and the host counts as dead."""
LONGEST_REST = 24 * 3_600_000


@dataclass(frozen=True, slots=True)
class Retry:
    """The page's own trouble: one attempt is spent, the next comes after `wait`."""

    wait: int


@dataclass(frozen=True, slots=True)
class Rest:
    """The host's trouble: the whole source rests for `wait`, no attempt is spent."""

    wait: int
    announced: bool


@dataclass(frozen=True, slots=True)
class GiveUp:
    pass


def consequence(
    failed: Failed, attempt: int, streak: int, policy: Policy, rng: random.Random
) -> Retry | Rest | GiveUp:
    """`attempt` is how many were spent before this one, `streak` the host's failures so far."""
    rule = RULES[failed.kind]
    if failed.final or not (rule.retried or failed.whole_host):
        return GiveUp()
    if rule.hosts_fault or failed.whole_host:
        if failed.retry_after is not None:
            return Rest(min(failed.retry_after, LONGEST_REST), announced=True)
        return Rest(backoff(streak, policy, rng), announced=False)
    if attempt >= policy.max_retries:
        return GiveUp()
    return Retry(max(backoff(attempt, policy, rng), failed.retry_after or 0))


def backoff(attempt: int, policy: Policy, rng: random.Random) -> int:
    """The base doubled with each attempt, to the cap, give or take a tenth."""
    span = min(policy.retry_cap, policy.retry_base * 2 ** min(attempt, 30))
    return int(span * rng.uniform(0.9, 1.1))


@dataclass(frozen=True, slots=True)
class HostHealth:
    """What a source remembers of its host's trouble; stored with it, so that a new owner knows."""

    fail_streak: int = 0
    announced_streak: int = 0
    failing_since: int | None = None

    def after_rest(self, rest: Rest, now: int) -> "HostHealth":
        since = self.failing_since if self.failing_since is not None else now
        if rest.announced:
            return replace(
                self, announced_streak=self.announced_streak + 1, failing_since=since + rest.wait
            )
        return replace(self, fail_streak=self.fail_streak + 1, failing_since=since)

    def is_dead(self, policy: Policy, now: int) -> bool:
        return (
            self.fail_streak >= policy.give_up_probes
            or self.announced_streak >= ANNOUNCED_AT_MOST
            or (self.failing_since is not None and now - self.failing_since >= policy.give_up_after)
        )
