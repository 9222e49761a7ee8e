"""Counts wrong keys per address and minute: who sends too many is told to wait.

A right key always passes. Behind a proxy many clients may have one address, and the wrong keys of
one must not lock out the others; 256 random bits are not guessed at any rate.
"""

from typing import NoReturn

from curtsy.clock import MINUTE, SECOND, Clock
from curtsy.errors import KeyNeeded, OverLimit

MOST_FAILURES = 10
MOST_ADDRESSES = 10_000


class FailedAttempts:
    def __init__(self) -> None:
        self._minute = 0
        self._failures: dict[str, int] = {}

    def refuse(self, address: str, clock: Clock) -> NoReturn:
        """Counts a wrong key. Raises `KeyNeeded`, or `OverLimit` after too many in this minute."""
        now = clock.monotonic()
        if now // MINUTE != self._minute:
            self._minute = now // MINUTE
            self._failures.clear()
        if self._failures.get(address, 0) >= MOST_FAILURES:
            left = (self._minute + 1) * MINUTE - now
            raise OverLimit("Too many wrong keys from this address.", -(-left // SECOND))
        if address in self._failures or len(self._failures) < MOST_ADDRESSES:
            self._failures[address] = self._failures.get(address, 0) + 1
        raise KeyNeeded
