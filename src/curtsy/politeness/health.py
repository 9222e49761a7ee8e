"""What a source remembers of the trouble with its hosts: who fails, since when, who was given up.

A source may have many hosts. One that is dead takes none of the others with it.
"""

from collections.abc import Mapping
from dataclasses import astuple, dataclass, replace
from typing import Any, NamedTuple

from curtsy.politeness.policy import Policy

ANNOUNCED_AT_MOST = 24
"""So many announced rests in a row without one success, and the host counts as dead."""
MOST_REMEMBERED = 32
"""Hosts in trouble. Of more, the one that failed longest ago begins anew."""


@dataclass(frozen=True, slots=True)
class HostHealth:
    """Of one host, since it last answered."""

    fail_streak: int = 0
    announced_streak: int = 0
    rested: int = 0
    """Milliseconds that we left it alone of our own accord. Time in which nobody would have asked
    it anyway, as when it is closed or nothing runs, proves nothing and does not count."""

    def failed(self, rest: int, policy: Policy, *, announced: bool) -> "HostHealth | None":
        """After another failure that is followed by this rest; None: it counts as dead."""
        if announced:
            again = replace(self, announced_streak=self.announced_streak + 1)
            return again if again.announced_streak < ANNOUNCED_AT_MOST else None
        again = replace(self, fail_streak=self.fail_streak + 1, rested=self.rested + rest)
        is_dead = again.fail_streak >= policy.give_up_probes or self.rested >= policy.give_up_after
        return None if is_dead else again


HEALTHY = HostHealth()


class GivenUp(NamedTuple):
    at: int
    """Visits made before this moment end unasked."""
    kind: str


class Hosts:
    """Those in trouble, and those that were given up; all others are well."""

    __slots__ = ("_given_up", "_ill")

    def __init__(self) -> None:
        self._ill: dict[str, HostHealth] = {}
        self._given_up: dict[str, GivenUp] = {}

    def __bool__(self) -> bool:
        return bool(self._ill or self._given_up)

    def health(self, host: str) -> HostHealth:
        return self._ill.get(host, HEALTHY)

    def answered(self, host: str) -> None:
        self._ill.pop(host, None)
        self._given_up.pop(host, None)

    def failed(self, host: str, health: HostHealth) -> None:
        self._ill.pop(host, None)
        self._ill[host] = health
        if len(self._ill) > MOST_REMEMBERED:
            del self._ill[next(iter(self._ill))]

    def give_up(self, host: str, at: int, kind: str) -> None:
        self._ill.pop(host, None)
        self._given_up.pop(host, None)
        self._given_up[host] = GivenUp(at, kind)
        if len(self._given_up) > MOST_REMEMBERED:
            del self._given_up[next(iter(self._given_up))]

    def given_up(self, host: str) -> GivenUp | None:
        return self._given_up.get(host)

    @property
    def some_given_up(self) -> bool:
        return bool(self._given_up)

    def kept(self, moment: int) -> dict[str, Any]:
        """What the next owner needs to know; moments as spans before this one."""
        kept: dict[str, Any] = {}
        if self._ill:
            kept["ill"] = {host: astuple(health) for host, health in self._ill.items()}
        if self._given_up:
            kept["gone"] = {host: [moment - at, kind] for host, (at, kind)
                            in self._given_up.items()}  # fmt: skip
        return kept

    @classmethod
    def resumed(cls, kept: Mapping[str, Any], moment: int) -> "Hosts":
        hosts = cls()
        for host, health in kept.get("ill", {}).items():
            hosts._ill[host] = HostHealth(*health)
        for host, (ago, kind) in kept.get("gone", {}).items():
            hosts._given_up[host] = GivenUp(moment - ago, kind)
        return hosts
