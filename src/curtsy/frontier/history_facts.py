"""The facts that a flush adds to the history: one for each result that counts."""

from collections.abc import Collection, Sequence

from curtsy.clock import MINUTE
from curtsy.frontier.batch import Result
from curtsy.history.facts import NO_REQUEST, OUTCOMES, Fact, Fate, batch_call
from curtsy.model.job_states import band_of
from curtsy.model.outcome import Again, Failed, Fetched, Moved, NotModified
from curtsy.store import Call

_NUMBERS = {
    Fetched: OUTCOMES.index("fetched"), NotModified: OUTCOMES.index("not_modified"),
    Moved: OUTCOMES.index("moved"), Again: OUTCOMES.index("again"),
    Failed: OUTCOMES.index("failed"),
}  # fmt: skip
_BANDS = [int(band_of(priority)) for priority in range(11)]
_CONTINUED, _SUCCEEDED, _RETRIED, _GIVEN_UP, _BURIED = (int(fate) for fate in Fate)


def history_call(results: Sequence[Result], *, new_letters: Collection[int]) -> Call:
    """Returns the call that appends the results; `new_letters` are the pages whose dead letter is
    new."""
    facts = [_fact(result, new_letters) for result in results]
    return batch_call(facts, at=min(result.ended_at for result in results))


def _fact(result: Result, new_letters: Collection[int]) -> Fact:
    """Called for every result of a busy worker. No span is negative, also when a clock was
    corrected meanwhile: sums of spans never fall."""
    visit, outcome, ended_at = result.visit, result.outcome, result.ended_at
    took = ended_at - result.started_at
    requested = not (result.no_request or result.of_robots)
    kind, size, until_next = None, 0, 0
    again_at = result.again_at
    fate = _SUCCEEDED if again_at is None else _CONTINUED
    if isinstance(outcome, Failed):
        kind, size = outcome.kind.value, outcome.wire_bytes or 0
        if again_at is None:
            fate = _BURIED if visit.page_id in new_letters else _GIVEN_UP
        else:
            fate, until_next = (_RETRIED if requested else _CONTINUED), again_at - ended_at
    elif isinstance(outcome, Fetched):
        size = outcome.wire_bytes
    capacity, politeness, closed, backoff = result.waited
    return (
        ended_at // MINUTE, visit.source_id, _BANDS[visit.priority],
        _NUMBERS[type(outcome)] if requested else NO_REQUEST, kind, fate,
        took if took > 0 else 0, size,
        capacity, politeness, closed, backoff, until_next if until_next > 0 else 0,
    )  # fmt: skip
