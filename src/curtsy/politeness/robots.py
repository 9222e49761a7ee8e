"""What a robots.txt lets us do, by RFC 9309.

The file is hostile like any page: reading is linear in its size and a match is linear in the
path, whatever its patterns. (As regular expressions, as is usual, `/*a*a*a*a*b` takes hours.)
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from urllib.parse import quote

from curtsy.model.wildcards import pieces_match

READ_BYTES = 500 * 1024
"""What follows in a larger file is not read."""
MOST_WILDCARDS = 5_000
"""So many patterns with `*` or `$` are minded; every one is a search in every path."""

_TOKEN = re.compile(r"[A-Za-z_-]+")
_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})")
_NEEDS_ESCAPE = re.compile(r"[^!-~]+")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
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
    """Lines that hold for certain robots."""

    rules: dict[str, bool] = field(default_factory=dict)
    """Pattern to whether it allows."""
    crawl_delay: int | None = None


@dataclass(frozen=True, slots=True)
class _Wildcard:
    length: int
    pieces: tuple[str, ...]
    needle: str
    """The longest piece: a path without it is told apart at once."""
    anchored: bool
    allows: bool

    def matches(self, path: str) -> bool:
        return pieces_match(self.pieces, path, to_the_end=self.anchored)


class Robots:
    """The rules for us. The longest pattern that matches decides; of two, the one that allows."""

    __slots__ = ("_lengths", "_plain", "_wildcards", "crawl_delay")

    def __init__(self, rules: Iterable[tuple[str, bool]] = (), crawl_delay: int | None = None):
        self.crawl_delay = crawl_delay
        """Milliseconds between two requests, if the file asks for any."""
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

    def allows(self, path: str) -> bool:
        """`path` as it is asked for: from the slash on, with the query."""
        path = _spelled(path)
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
    """The rules of the groups that name us; where none does, of those for everybody."""
    ours, everybodys = _Group(), _Group()
    named = in_head = False
    meant: list[_Group] = []
    for name, value in _lines(file):
        if name == "user-agent":
            if not in_head:
                meant, in_head = [], True
            agent = _agent(value)
            named = named or agent == token.lower()
            group = {token.lower(): ours, "*": everybodys}.get(agent)
            if group is not None and all(group is not known for known in meant):
                meant.append(group)
        elif name in ("allow", "disallow", "crawl-delay"):
            in_head = False
            for group in meant:
                _add(group, name, value)
    group = ours if named else everybodys
    return Robots(group.rules.items(), group.crawl_delay)


def token_of(user_agent: str) -> str:
    """The name that robots.txt files call us by: what the user agent begins with."""
    found = _TOKEN.match(user_agent)
    return found[0] if found else ""


def _lines(file: bytes) -> Iterator[tuple[str, str]]:
    """Name and value of each line that has them; some write a space where the colon should be."""
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
        pattern, allows = _spelled(value), name == "allow"
        group.rules[pattern] = group.rules.get(pattern, False) or allows


def _spelled(text: str) -> str:
    """One spelling for each path: escaped where that is needed and nowhere else."""
    if _NEEDS_ESCAPE.search(text):
        text = _NEEDS_ESCAPE.sub(lambda found: quote(found[0], safe=""), text)
    return _ESCAPE.sub(_one_escape, text) if "%" in text else text


def _one_escape(found: re.Match[str]) -> str:
    character = chr(int(found[1], 16))
    return character if character in _UNRESERVED else found[0].upper()
