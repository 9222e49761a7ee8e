"""Patterns with `*` for any run of characters, matched in one pass whatever the pattern."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from curtsy.model.urls import spelled


@dataclass(frozen=True, slots=True)
class Wildcard:
    """A pattern that must match a whole text."""

    text: str
    _pieces: tuple[str, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_pieces", tuple(self.text.split("*")))

    def matches(self, text: str) -> bool:
        return pieces_match(self._pieces, text, to_the_end=True)


def patterns(texts: Iterable[str]) -> tuple[Wildcard, ...]:
    """Returns the patterns in the spelling of canonical URLs, which they are matched with."""
    return tuple(Wildcard(spelled(text)) for text in texts)


def pieces_match(pieces: Sequence[str], text: str, *, to_the_end: bool) -> bool:
    """Whether the pieces occur in this order, the first at the beginning of the text."""
    first, *others = pieces
    last = others.pop() if to_the_end and others else ""
    if not text.startswith(first):
        return False
    at = len(first)
    for piece in others:
        at = text.find(piece, at)
        if at < 0:
            return False
        at += len(piece)
    if to_the_end and len(pieces) == 1:
        return at == len(text)
    return len(text) - len(last) >= at and text.endswith(last)
