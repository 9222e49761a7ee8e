"""The health of a source's hosts: which fail, how often, and which were given up.

A source may have many hosts; a dead one does not affect the others.
"""

from collections.abc import Mapping
from dataclasses import astuple, dataclass, replace
from typing import Any, NamedTuple

from curtsy.politeness.policy import Policy

ANNOUNCED_AT_MOST = 24
"""After this many announced rests in a row without a success, the host counts as dead."""
MOST_REMEMBERED = 32
"""The most failing hosts that are stored; beyond that, the one that failed longest ago is
dropped."""


@dataclass(frozen=True, slots=True)
class HostHealth:
    """The failures of one host since it last answered."""

    fail_streak: int = 0
    announced_streak: int = 0
    rested: int = 0
    """Milliseconds of rests that the host did not ask for. Time without requests for other reasons
    (closed hours, no worker) does not count."""

    def failed(self, rest: int, policy: Policy, *, announced: bool) -> "HostHealth | None":
        """The health after another failure that is followed by this rest; None: the host is
        dead."""
        if announced:
            again = replace(self, announced_streak=self.announced_streak + 1)
            is_over = False
        else:
            again = replace(self, fail_streak=self.fail_streak + 1, rested=self.rested + rest)
            is_over = self.rested >= policy.give_up_after
        limit = self.limit(policy, announced=announced)
        return None if is_over or again.streak(announced=announced) >= limit else again

    def streak(self, *, announced: bool) -> int:
        return self.announced_streak if announced else self.fail_streak

    def limit(self, policy: Policy, *, announced: bool) -> int:
        """The streak at which the host counts as dead."""
        return ANNOUNCED_AT_MOST if announced else policy.give_up_probes


HEALTHY = HostHealth()


class GivenUp(NamedTuple):
    at: int
    """Visits created before this moment end without a request."""
    kind: str


class Hosts:
    """The failing hosts and the hosts that were given up; all others are healthy."""

    __slots__ = ("_failing", "_given_up")

    def __init__(self) -> None:
        self._failing: dict[str, HostHealth] = {}
        self._given_up: dict[str, GivenUp] = {}

    def __bool__(self) -> bool:
        return bool(self._failing or self._given_up)

    def health(self, host: str) -> HostHealth:
        return self._failing.get(host, HEALTHY)

    def answered(self, host: str) -> None:
        self._failing.pop(host, None)
        self._given_up.pop(host, None)

    def failed(self, host: str, health: HostHealth) -> None:
        self._failing.pop(host, None)
        self._failing[host] = health
        if len(self._failing) > MOST_REMEMBERED:
            del self._failing[next(iter(self._failing))]

    def give_up(self, host: str, at: int, kind: str) -> None:
        self._failing.pop(host, None)
        self._given_up.pop(host, None)
        self._given_up[host] = GivenUp(at, kind)
        if len(self._given_up) > MOST_REMEMBERED:
            del self._given_up[next(iter(self._given_up))]

    def given_up(self, host: str) -> GivenUp | None:
        return self._given_up.get(host)

    @property
    def some_given_up(self) -> bool:
        return bool(self._given_up)

    def stored(self, moment: int) -> dict[str, Any]:
        """The state for the next owner; moments are stored as spans before `moment`."""
        stored: dict[str, Any] = {}
        if self._failing:
            stored["ill"] = {host: astuple(health) for host, health in self._failing.items()}
        if self._given_up:
            stored["gone"] = {host: [moment - at, kind] for host, (at, kind)
                            in self._given_up.items()}  # fmt: skip
        return stored

    @classmethod
    def resumed(cls, stored: Mapping[str, Any], moment: int) -> "Hosts":
        hosts = cls()
        for host, health in stored.get("ill", {}).items():
            hosts._failing[host] = HostHealth(*health)
        for host, (ago, kind) in stored.get("gone", {}).items():
            hosts._given_up[host] = GivenUp(moment - ago, kind)
        return hosts
