"""The scope of a crawl: which links it may follow."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

from curtsy.model.domains import domain_of
from curtsy.model.wildcards import Wildcard, patterns

Reach = Literal["page", "prefix", "host", "domain", "any"]


@dataclass(frozen=True, slots=True)
class Scope:
    """The reach is `page`: the start pages only; `prefix`: below the folder of a start page;
    `host`: the host of a start page; `domain`: its registered domain with all its hosts; `any`:
    every host."""

    reach: Reach
    places: frozenset[str]
    """Prefixes, hosts or domains, depending on the reach."""
    include: tuple[Wildcard, ...] = ()
    exclude: tuple[Wildcard, ...] = ()

    def holds(self, url: str, host: str) -> bool:
        """Whether the crawl may follow this canonical URL on this host."""
        if not self._is_near(url, host):
            return False
        if self.include and not any(pattern.matches(url) for pattern in self.include):
            return False
        return not any(pattern.matches(url) for pattern in self.exclude)

    def _is_near(self, url: str, host: str) -> bool:
        match self.reach:
            case "page":
                return False
            case "prefix":
                return any(url.startswith(place) for place in self.places)
            case "host":
                return host in self.places
            case "domain":
                return domain_of(host) in self.places
            case "any":
                return True

    def to_json(self) -> dict[str, Any]:
        return {
            "reach": self.reach,
            "places": sorted(self.places),
            "include": [pattern.text for pattern in self.include],
            "exclude": [pattern.text for pattern in self.exclude],
        }

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> Self:
        return cls(
            stored["reach"],
            frozenset(stored["places"]),
            patterns(stored["include"]),
            patterns(stored["exclude"]),
        )


def scope_around(
    starts: Iterable[tuple[str, str]],
    reach: Reach,
    *,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
) -> Scope:
    """The scope around the start pages: canonical URLs with their hosts."""
    match reach:
        case "page" | "any":
            places: set[str] = set()
        case "prefix":
            places = {url[: url.rindex("/", url.index("//") + 2) + 1] for url, _ in _paths(starts)}
        case "host":
            places = {host for _url, host in starts}
        case "domain":
            places = {domain_of(host) for _url, host in starts}
    return Scope(reach, frozenset(places), patterns(include), patterns(exclude))


def _paths(starts: Iterable[tuple[str, str]]) -> Iterable[tuple[str, str]]:
    """The URLs without their queries, where a slash is not a folder."""
    return ((url.partition("?")[0], host) for url, host in starts)
