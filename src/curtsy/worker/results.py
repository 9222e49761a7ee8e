"""From an outcome to what is recorded of it, and to what it means for the host."""

import random
from dataclasses import dataclass, replace
from typing import assert_never

from curtsy.frontier.results import Result
from curtsy.model.kinds import RULES, Kind
from curtsy.model.outcome import Again, Failed, Fetched, Moved, NotModified
from curtsy.model.urls import canonical
from curtsy.politeness.consequence import GiveUp, HostHealth, Rest, Retry, consequence
from curtsy.politeness.policy import Policy

HEALTHY = HostHealth()


@dataclass(frozen=True, slots=True)
class Judged:
    result: Result
    health: HostHealth
    rest: Rest | None = None
    host_is_dead: bool = False


def judge(result: Result, *, policy: Policy, health: HostHealth, rng: random.Random) -> Judged:
    """The result with what follows from it, and the host's health after it."""
    outcome = result.outcome
    match outcome:
        case Fetched() | NotModified():
            return Judged(result, HEALTHY)
        case Moved():
            host = canonical(outcome.url).host
            moved = replace(result, again_at=result.ended_at, moved_to_host=host)
            return Judged(moved, HEALTHY)
        case Again():
            return Judged(replace(result, again_at=outcome.due_at), HEALTHY)
        case Failed():
            return _judge_failure(result, outcome, policy, health, rng)
        case _:
            assert_never(outcome)


def _judge_failure(
    result: Result, failed: Failed, policy: Policy, health: HostHealth, rng: random.Random
) -> Judged:
    now = result.ended_at
    follows = consequence(failed, result.visit.attempt, health.fail_streak, policy, rng)
    match follows:
        case GiveUp():
            return Judged(result, health if RULES[failed.kind].hosts_fault else HEALTHY)
        case Retry():
            again = replace(result, again_at=now + follows.wait, spends_attempt=True)
            return Judged(again, HEALTHY)
        case Rest():
            after = health.after_rest(follows, now)
            if after.is_dead(policy, now):
                return Judged(result, HEALTHY, host_is_dead=True)
            return Judged(replace(result, again_at=now), after, rest=follows)
        case _:
            assert_never(follows)


def unrecorded(result: Result) -> Result:
    """In place of a result that the store could not take."""
    error = "The result could not be stored; the log has the reason."
    return replace(
        result, outcome=Failed(Kind.INTERNAL, error), again_at=None, moved_to_host=None,
        spends_attempt=False, document=None,
    )  # fmt: skip
