"""When a delivery is tried again, and when it is given up: the rule of all messages to receivers
outside, whatever carries them."""

from typing import NamedTuple

from curtsy.clock import HOUR, SECOND

CLAIM_FOR = 60 * SECOND
"""No other sender claims a delivery for so long after its attempt began."""
FIRST_WAIT, LONGEST_WAIT = 10 * SECOND, HOUR
MOST_ATTEMPTS = 20
"""About twelve hours, with waits that double up to an hour."""
GONE = 410
"""The receiver wants no more of this."""


class DeliveryState(NamedTuple):
    """The state of a delivery after an attempt."""

    state: str
    """waiting, delivered or failed"""
    next_at: int | None
    ended_at: int | None


def after_attempt(attempt: int, status: int | None, error: str | None, now: int) -> DeliveryState:
    """`error` is why the receiver did not accept the delivery; None: accepted."""
    if error is None:
        return DeliveryState("delivered", None, now)
    if status == GONE or attempt >= MOST_ATTEMPTS:
        return DeliveryState("failed", None, now)
    wait = min(FIRST_WAIT * 2 ** (attempt - 1), LONGEST_WAIT)
    return DeliveryState("waiting", now + wait, None)
