"""Decides what follows a failed visit: retry the page, rest the host, or give up."""

import random
from dataclasses import dataclass

from curtsy.model.failure_kinds import RULES
from curtsy.model.outcome import Failed
from curtsy.politeness.host_health import HEALTHY, HostHealth
from curtsy.politeness.policy import Policy

LONGEST_REST = 24 * 3_600_000


@dataclass(frozen=True, slots=True)
class Retry:
    """The page failed: the attempt counts, and the next one follows after `wait`."""

    wait: int


@dataclass(frozen=True, slots=True)
class Rest:
    """The host failed: the whole source rests for `wait`, and the attempt does not count."""

    wait: int
    announced: bool
    """The host asked for the wait."""


@dataclass(frozen=True, slots=True)
class GiveUp:
    pass


def consequence(
    failed: Failed, attempt: int, policy: Policy, rng: random.Random, health: HostHealth = HEALTHY
) -> Retry | Rest | GiveUp:
    """`attempt` is the number of attempts that counted before, `health` the host's health so
    far."""
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
    """The wait that the host asked for. A host that refuses again after such a wait, as with
    `Retry-After: 0`, gets the usual backoff if that is longer."""
    again = health.announced_streak
    own = backoff(again - 1, policy, rng) if again else 0
    return max(min(span, LONGEST_REST), own)


def backoff(attempt: int, policy: Policy, rng: random.Random) -> int:
    """The base, doubled with each attempt up to the cap, plus or minus ten percent."""
    span = min(policy.retry_cap, policy.retry_base * 2 ** min(attempt, 30))
    return int(span * rng.uniform(0.9, 1.1))
