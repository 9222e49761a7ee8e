"""The facts of a flush: a row of `history_batches`, written in the transaction of the flush.

A fact is a result that counts, as a short tuple. The row is deleted when it is folded into the
table `history`; both happen in transactions, so each fact is counted exactly once.
"""

from collections.abc import Sequence
from enum import IntEnum

import orjson

from curtsy.store import Call, Statement

OUTCOMES = ("fetched", "not_modified", "moved", "again", "failed")
"""Of attempts; a fact has the position."""
NO_REQUEST = -1
"""In place of an outcome: the page was not requested, so this is no attempt."""
FAILED = OUTCOMES.index("failed")
REASONS = ("capacity", "politeness", "closed", "backoff")
"""To wait, in the order of a fact."""


class Fate(IntEnum):
    """What became of the page."""

    CONTINUED = 0
    SUCCEEDED = 1
    RETRIED = 2
    """It failed and waits for another try."""
    GIVEN_UP = 3
    """It failed, and has had an open dead letter before."""
    BURIED = 4
    """It failed, and has a new dead letter."""


Fact = tuple[int, int, int, int, str | None, int, int, int, int, int, int, int, int]
"""Minute of the end since 1970, source id, band, outcome, kind of failure, fate, milliseconds of
the fetch, bytes; milliseconds waited for each reason; milliseconds to wait for the next try."""

_APPEND = Statement("INSERT INTO history_batches (at, facts) VALUES (:at, :facts)")


def batch_call(facts: Sequence[Fact], *, at: int) -> Call:
    """Returns the call that appends the facts; `at` is the earliest instant of them."""
    return _APPEND, {"at": at, "facts": orjson.dumps(facts).decode()}
