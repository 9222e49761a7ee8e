"""Compares an extracted article with the true one."""

import re
from collections import Counter
from collections.abc import Iterable
from statistics import fmean
from typing import NamedTuple

SHINGLE = 4
_LETTERS_THAT_ARE_WORDS = "\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_TOKEN = re.compile(rf"[{_LETTERS_THAT_ARE_WORDS}]|[^\W{_LETTERS_THAT_ARE_WORDS}]+")
"""Words; in writing without spaces, characters."""


class Score(NamedTuple):
    precision: float
    recall: float

    @property
    def f1(self) -> float:
        both = self.precision + self.recall
        return 2 * self.precision * self.recall / both if both else 0.0


def pooled_f1(scores: Iterable[Score]) -> float:
    """Returns the F1 of the mean precision and the mean recall, which published figures give."""
    precisions, recalls = zip(*scores, strict=True)
    return Score(fmean(precisions), fmean(recalls)).f1


def score(truth: str, found: str) -> Score:
    """Compares the multisets of runs of four words."""
    expected, got = _shingles(truth), _shingles(found)
    if not expected or not got:
        return Score(float(not got), float(not expected))
    right = (expected & got).total()
    return Score(right / got.total(), right / expected.total())


def _shingles(text: str) -> Counter[tuple[str, ...]]:
    words = _TOKEN.findall(text)
    if len(words) < SHINGLE:
        return Counter([tuple(words)] if words else [])
    return Counter(zip(*(words[n:] for n in range(SHINGLE)), strict=False))


def agrees(key: str, truth: str | None, found: str | None) -> bool:
    """A date is compared by its day; title and author by their words, whatever their case."""
    if not truth or not found:
        return not truth and not found
    if key == "date":
        return truth[:10] == found[:10]
    return sorted(_TOKEN.findall(truth.casefold())) == sorted(_TOKEN.findall(found.casefold()))
