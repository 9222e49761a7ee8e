"""Decides what follows from an outcome: a retry, a failure, and a rest for the host."""

import random
from dataclasses import dataclass, replace
from typing import assert_never

from curtsy.frontier.batch import Result
from curtsy.model.failure_kinds import Kind
from curtsy.model.outcome import Again, Failed, Fetched, Moved, NotModified
from curtsy.model.urls import canonical
from curtsy.politeness.host_health import HostHealth
from curtsy.politeness.policy import Policy
from curtsy.politeness.retry_rule import GiveUp, Rest, Retry, backoff, consequence

_NO_ANSWER = frozenset({
    Kind.DNS, Kind.CONNECT, Kind.TLS, Kind.TIMEOUT, Kind.RESET, Kind.ADDRESS_REFUSED, Kind.INTERNAL,
})  # fmt: skip
AFTER_OTHERS = 2_000
"""Milliseconds that a failed page waits beyond the rest of its host. Another page, if there is one,
tries the host first, which shows whether the host or the page is at fault."""
FEWEST_REFUSALS = 2
"""A page is not given up at its first refusal, whatever its retries: only a second one, after the
host has answered other pages, shows that the host refuses this page and not all of them."""


@dataclass(frozen=True, slots=True)
class HostTrouble:
    """A failure of the host, not of the page."""

    rest: Rest
    health: HostHealth | None
    """The host's new health; None: the host is given up."""


@dataclass(frozen=True, slots=True)
class Judged:
    result: Result
    answered: bool = True
    """The host answered, with whatever status."""
    trouble: HostTrouble | None = None


def judge(
    result: Result, *, policy: Policy, health: HostHealth, rng: random.Random, answers_others: bool
) -> Judged:
    """Returns the result with its consequences. `answers_others`: the last request to the source
    was answered, so a refusal may concern this page only."""
    outcome = result.outcome
    match outcome:
        case Fetched() | NotModified():
            return Judged(result)
        case Moved():
            host = canonical(outcome.url).host
            return Judged(replace(result, again_at=result.ended_at, moved_to_host=host))
        case Again():
            return Judged(replace(result, again_at=outcome.due_at))
        case Failed():
            return _judge_failure(result, outcome, policy, health, rng, answers_others)
        case _:
            assert_never(outcome)


def _judge_failure(
    result: Result, failed: Failed, policy: Policy, health: HostHealth, rng: random.Random,
    answers_others: bool,
) -> Judged:  # fmt: skip
    follows = consequence(failed, result.visit.attempt, policy, rng, health)
    match follows:
        case GiveUp():
            return Judged(result, answered=_answered(failed))
        case Retry():
            again_at = result.ended_at + follows.wait
            waits = replace(result, again_at=again_at, spends_attempt=True)
            return Judged(waits, answered=_answered(failed))
        case Rest(wait=0):  # another proxy is ready
            return Judged(replace(result, again_at=result.ended_at), answered=False)
        case Rest():
            after = health.failed(follows.wait, policy, announced=follows.announced)
            trouble = HostTrouble(follows, after)
            refused = answers_others and not failed.whole_host
            refusals = result.visit.refused + refused
            if after is None or refusals > max(policy.max_retries, FEWEST_REFUSALS - 1):
                return Judged(result, answered=False, trouble=trouble)
            waits = replace(postponed(result, follows), refused=refused)
            if refused:  # the tries of the page itself are spaced like any retries
                own = result.ended_at + backoff(refusals - 1, policy, rng)
                waits = replace(waits, again_at=max(waits.again_at or 0, own))
            return Judged(waits, answered=False, trouble=trouble)
        case _:
            assert_never(follows)


def _answered(failed: Failed) -> bool:
    """Whether the failure came with an answer of the host."""
    return failed.status is not None or failed.kind not in _NO_ANSWER


def postponed(result: Result, rest: Rest) -> Result:
    """Postpones the visit until its host has rested and another page was tried."""
    return replace(result, again_at=result.ended_at + rest.wait + min(AFTER_OTHERS, rest.wait))


def unrecorded(result: Result) -> Result:
    """Returns the failure to store in place of a result that could not be stored."""
    error = "The result could not be stored; the log has the reason."
    return replace(
        result, outcome=Failed(Kind.INTERNAL, error), again_at=None, moved_to_host=None,
        spends_attempt=False, document=None,
    )  # fmt: skip
