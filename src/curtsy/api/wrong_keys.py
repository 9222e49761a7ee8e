"""Guessing keys is made slow: so many wrong ones from one address in a minute, and no more."""

from curtsy.clock import MINUTE, SECOND, Clock
from curtsy.errors import OverLimit

MOST_WRONG = 10
MOST_ADDRESSES = 10_000


class WrongKeys:
    def __init__(self) -> None:
        self._minute = 0
        self._tries: dict[str, int] = {}

    def count_try(self, address: str, clock: Clock) -> None:
        """Before it is known whether the key holds, so that many at once get no further."""
        now = clock.monotonic()
        if now // MINUTE != self._minute:
            self._minute = now // MINUTE
            self._tries.clear()
        tries = self._tries.get(address, 0)
        if tries >= MOST_WRONG:
            left = (self._minute + 1) * MINUTE - now
            raise OverLimit("Too many wrong keys from this address.", -(-left // SECOND))
        if tries or len(self._tries) < MOST_ADDRESSES:
            self._tries[address] = tries + 1

    def forgive(self, address: str) -> None:
        """The key held: the try does not count."""
        if address in self._tries:
            self._tries[address] -= 1
