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
    """The host asked for at least our first backoff: the rest does not count towards giving up."""


@dataclass(frozen=True, slots=True)
class GiveUp:
    pass


def consequence(
    failed: Failed, attempt: int, policy: Policy, rng: random.Random, health: HostHealth = HEALTHY
) -> Retry | Rest | GiveUp:
    """`attempt` is the number of attempts that counted before, `health` the host's health so
    far."""
    if failed.proxies_rest is not None:
        return Rest(failed.proxies_rest, announced=True)
    rule = RULES[failed.kind]
    if failed.final or not (rule.retried or failed.whole_host):
        return GiveUp()
    if rule.hosts_fault or failed.whole_host:
        return _rest(failed.retry_after or 0, policy, rng, health)
    if attempt >= policy.max_retries:
        return GiveUp()
    return Retry(max(backoff(attempt, policy, rng), failed.retry_after or 0))


def _rest(asked: int, policy: Policy, rng: random.Random, health: HostHealth) -> Rest:
    """The wait that the host asked for, or our own backoff if that is longer. A host that asks for
    less than our first backoff, as with `Retry-After: 0`, is treated as if it asked for nothing."""
    own = backoff(health.fail_streak + health.announced_streak, policy, rng)
    announced = asked > 0 and asked >= policy.retry_base
    return Rest(max(min(asked, LONGEST_REST), own), announced)


def backoff(attempt: int, policy: Policy, rng: random.Random) -> int:
    """The base, doubled with each attempt up to the cap, plus or minus ten percent."""
    span = min(policy.retry_cap, policy.retry_base * 2 ** min(attempt, 30))
    return int(span * rng.uniform(0.9, 1.1))
