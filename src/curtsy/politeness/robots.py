"""Parses robots.txt and matches paths against it, by RFC 9309.

The file is untrusted: parsing takes time linear in its size, and matching time linear in the path,
whatever its patterns. (With regular expressions, `/*a*a*a*a*b` would take hours.)
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from curtsy.model.urls import spelled
from curtsy.model.wildcards import pieces_match

READ_BYTES = 500 * 1024
"""The rest of a larger file is ignored."""
MOST_WILDCARDS = 5_000
"""The most patterns with `*` or `$` that are used; each is searched for in every path."""

_TOKEN = re.compile(r"[A-Za-z_-]+")
_LINE = re.compile(r"(user[ -]?agent|crawl[ -]delay|[A-Za-z-]+)(?:\s*:\s*|\s+)(.*)", re.IGNORECASE)
_MISSPELT = {
    "useragent": "user-agent",
    "user agent": "user-agent",
    "crawl delay": "crawl-delay",
    "dissallow": "disallow",
    "dissalow": "disallow",
    "disalow": "disallow",
    "diasllow": "disallow",
    "disallaw": "disallow",
}
_NUMBER = re.compile(r"[0-9]{1,9}(?:\.[0-9]*)?")


@dataclass(slots=True)
class _Group:
    """The rules for certain user agents."""

    rules: dict[str, bool] = field(default_factory=dict)
    """By pattern: whether it allows."""
    crawl_delay: int | None = None


@dataclass(frozen=True, slots=True)
class _Wildcard:
    length: int
    pieces: tuple[str, ...]
    needle: str
    """The longest piece: a path without it cannot match."""
    anchored: bool
    allows: bool

    def matches(self, path: str) -> bool:
        return pieces_match(self.pieces, path, to_the_end=self.anchored)


class Robots:
    """The rules for one user agent. The longest matching pattern decides; of two, the allowing
    one."""

    __slots__ = ("_lengths", "_plain", "_wildcards", "allows_all", "crawl_delay")

    def __init__(self, rules: Iterable[tuple[str, bool]] = (), crawl_delay: int | None = None):
        self.crawl_delay = crawl_delay
        """Milliseconds between two requests; None: the file has no Crawl-delay."""
        self._plain: dict[str, bool] = {}
        wildcards: list[_Wildcard] = []
        for pattern, allows in rules:
            anchored = pattern.endswith("$")
            if not anchored and "*" not in pattern:
                self._plain[pattern] = allows
            elif len(wildcards) < MOST_WILDCARDS:
                pieces = tuple(pattern.removesuffix("$").split("*"))
                needle = max(pieces, key=len)
                wildcards.append(_Wildcard(len(pattern), pieces, needle, anchored, allows))
        self._lengths = sorted({len(pattern) for pattern in self._plain}, reverse=True)
        self._wildcards = sorted(wildcards, key=lambda w: (w.length, w.allows), reverse=True)
        self.allows_all = not self._plain and not self._wildcards
        """There is no rule."""

    def allows(self, path: str) -> bool:
        """`path` is the request target: from the slash on, with the query."""
        if self.allows_all:
            return True
        path = spelled(path)
        if path == "/robots.txt":
            return True
        length, allowed = self._plain_verdict(path)
        for wildcard in self._wildcards:
            if wildcard.length < length or (wildcard.length == length and allowed):
                break
            if wildcard.needle in path and wildcard.matches(path):
                return wildcard.allows
        return allowed

    def _plain_verdict(self, path: str) -> tuple[int, bool]:
        for length in self._lengths:
            if length <= len(path) and (allows := self._plain.get(path[:length])) is not None:
                return length, allows
        return -1, True


def robots_of(file: bytes, token: str) -> Robots:
    """The rules of the groups that name this product token; if there are none, of those for `*`."""
    own, everyones = _Group(), _Group()
    named = in_head = False
    current: list[_Group] = []
    for name, value in _lines(file):
        if name == "user-agent":
            if not in_head:
                current, in_head = [], True
            agent = _agent(value)
            named = named or agent == token.lower()
            group = {token.lower(): own, "*": everyones}.get(agent)
            if group is not None and all(group is not known for known in current):
                current.append(group)
        elif name in ("allow", "disallow", "crawl-delay"):
            in_head = False
            for group in current:
                _add(group, name, value)
    group = own if named else everyones
    return Robots(group.rules.items(), group.crawl_delay)


def token_of(user_agent: str) -> str:
    """The product token, by which robots.txt names a client: the beginning of its user agent."""
    found = _TOKEN.match(user_agent)
    return found[0] if found else ""


def _lines(file: bytes) -> Iterator[tuple[str, str]]:
    """Name and value of each line that has both; some files have a space in place of the colon."""
    text = file[:READ_BYTES].decode(errors="replace").removeprefix("\ufeff")
    for line in text.replace("\r", "\n").split("\n"):
        if found := _LINE.match(line.partition("#")[0].strip()):
            name = found[1].lower()
            yield _MISSPELT.get(name, name), found[2]


def _agent(value: str) -> str:
    if value.split(maxsplit=1)[:1] == ["*"]:
        return "*"
    return token_of(value).lower()


def _add(group: _Group, name: str, value: str) -> None:
    if name == "crawl-delay":
        if _NUMBER.fullmatch(value):
            group.crawl_delay = max(group.crawl_delay or 0, int(float(value) * 1000))
    elif value:
        pattern, allows = spelled(value), name == "allow"
        group.rules[pattern] = group.rules.get(pattern, False) or allows
