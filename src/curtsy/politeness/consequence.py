"""What follows when a visit fails: try the page again, rest the host, or give up."""

import random
from dataclasses import dataclass

from curtsy.model.failure_kinds import RULES
from curtsy.model.outcome import Failed
from curtsy.politeness.health import HEALTHY, HostHealth
from curtsy.politeness.policy import Policy

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
    failed: Failed, attempt: int, policy: Policy, rng: random.Random, health: HostHealth = HEALTHY
) -> Retry | Rest | GiveUp:
    """`attempt` is how many were spent before this one, `health` the host's until now."""
    rule = RULES[failed.kind]
    if failed.final or not (rule.retried or failed.whole_host):
        return GiveUp()
    if rule.hosts_fault or failed.whole_host:
        if failed.retry_after is None:
            return Rest(backoff(health.fail_streak, policy, rng), announced=False)
        return Rest(_as_announced(failed.retry_after, health, policy, rng), announced=True)
    if attempt >= policy.max_retries:
        return GiveUp()
    return Retry(max(backoff(attempt, policy, rng), failed.retry_after or 0))


def _as_announced(span: int, health: HostHealth, policy: Policy, rng: random.Random) -> int:
    """What the host asks for. One that refuses us again after just that, as with a `Retry-After`
    of no time at all, gets what it would get without a word of its own, if that is more."""
    again = health.announced_streak
    own = backoff(again - 1, policy, rng) if again else 0
    return max(min(span, LONGEST_REST), own)


def backoff(attempt: int, policy: Policy, rng: random.Random) -> int:
    """The base doubled with each attempt, to the cap, give or take a tenth."""
    span = min(policy.retry_cap, policy.retry_base * 2 ** min(attempt, 30))
    return int(span * rng.uniform(0.9, 1.1))
