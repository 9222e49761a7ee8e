"""When the next request of a source may start. One owner, one loop: nobody else asks.

Times here are on the monotonic clock; the lane turns them into instants when it stores them.
"""

import random
from dataclasses import dataclass

from curtsy.politeness.policy import Policy


@dataclass(slots=True)
class Pace:
    policy: Policy
    next_at: int
    """No start before this."""
    in_flight: int = 0
    alone: bool = False
    """One request at a time, whatever the policy allows: the source is under suspicion."""
    resting: bool = False
    """After trouble with the host: one probe alone, until something succeeds."""

    unsent: int = 0
    """Started, but still connecting: spacing counts from when they leave."""

    def wait(self, now: int) -> int | None:
        """Milliseconds until a request may start; None while only another's progress can tell."""
        if self.in_flight >= (1 if self.resting or self.alone else self.policy.concurrency):
            return None
        if self.unsent and self.policy.min_delay:
            return None
        return max(0, self.next_at - now)

    def started(self, now: int, rng: random.Random) -> None:
        self.in_flight += 1
        self.unsent += 1
        self._space(now, rng)

    def sent(self, now: int, rng: random.Random) -> None:
        """The request leaves now, perhaps some time after it was started."""
        self.unsent -= 1
        self._space(now, rng)

    def ended(self, *, was_sent: bool) -> None:
        self.in_flight -= 1
        if not was_sent:
            self.unsent -= 1

    def rest(self, until: int) -> None:
        """Nothing starts before `until`, whatever else was planned."""
        self.next_at = max(self.next_at, until)

    def _space(self, now: int, rng: random.Random) -> None:
        low, high = self.policy.min_delay, self.policy.max_delay
        delay = rng.randint(low, high) if high > low else low
        if delay:
            self.next_at = max(self.next_at, now + delay + 1)  # `now` may be a millisecond old
