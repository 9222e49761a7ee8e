"""Chooses the element that holds the text of the article."""

from collections import defaultdict
from typing import NamedTuple

from curtsy.scrapers.articles import tags
from curtsy.scrapers.articles.class_words import COMMENTS, MAIN_CONTENT, STORY, STORY_BODY
from curtsy.scrapers.articles.outline import Outline

LEAST_PROSE = 500
"""Characters, of writing with words between spaces."""
STAGES = 5
BY_PROSE = STAGES
"""The stage of the element with the most prose, whatever its name."""
ENOUGH_OF_THE_BEST = 1 / 3
MOST_OUTSIDE = 0.3
"""Share of the prose inside above which an element around it is tried."""
_WRAPPERS = frozenset({tags.ARTICLE, tags.MAIN})


class Choice(NamedTuple):
    at: int
    stage: int
    inside: int
    """Characters of prose in the element."""
    unsifted: int
    """The same, with what names say is no part of the article."""
    outside: int
    """Characters of prose elsewhere on the page."""
    elsewhere: int
    """Characters of any text elsewhere that is no link."""


def choose(outline: Outline, scale: float) -> Choice:
    """`scale` is what a character says, in characters of writing with spaces."""
    least = LEAST_PROSE * scale
    stages: list[list[int]] = [[] for _ in range(STAGES)]
    for at, number in enumerate(outline.tags):
        if number in tags.CONTAINERS and (stage := _stage(outline, at, number)) is not None:
            stages[stage].append(at)
    for stage, candidates in enumerate(stages):
        # Stages are by name: one that misses most of the page's prose is left to later stages.
        if (good := _first_good(outline, candidates, least)) is not None:
            return _widened(outline, _choice(outline, good, stage))
    return _choice(outline, _most_prose(outline), BY_PROSE)


def _stage(outline: Outline, at: int, number: int) -> int | None:
    meaning, attributes = outline.meanings[at], outline.attributes[at]
    if outline.is_noise[at] or number == tags.BODY or meaning & COMMENTS:
        return 4 if number == tags.MAIN else None
    if meaning & STORY_BODY or attributes.get("itemprop") == "articleBody":
        return 0
    if number == tags.ARTICLE:
        return 1
    role = attributes.get("role")
    if role == "article" or meaning & STORY:
        return 2
    if number == tags.MAIN or role == "main":
        return 4
    return 3 if meaning & MAIN_CONTENT else None


def _first_good(outline: Outline, candidates: list[int], least: float) -> int | None:
    if not candidates:
        return None
    prose = [outline.prose_in(at) for at in candidates]
    enough = max(least, max(prose) * ENOUGH_OF_THE_BEST)
    return next((at for at, n in zip(candidates, prose, strict=True) if n >= enough), None)


def _choice(outline: Outline, at: int, stage: int) -> Choice:
    inside = outline.prose_in(at)
    unsifted = outline.unsifted_before[outline.ends[at]] - outline.unsifted_before[at]
    plain = outline.text_before[-1] - outline.link_before[-1]
    plain_inside = outline.text_in(at) - outline.links_in(at)
    return Choice(
        at, stage, inside, unsifted, outline.prose_before[-1] - inside, plain - plain_inside
    )


def _widened(outline: Outline, choice: Choice) -> Choice:
    """Returns the enclosing article, if much prose is outside and most of that is in there."""
    if choice.outside <= choice.inside * MOST_OUTSIDE:
        return choice
    at = outline.parents[choice.at]
    while at >= 0:
        if outline.tags[at] in _WRAPPERS:
            wider = _choice(outline, at, choice.stage)
            if wider.inside - choice.inside > choice.outside / 2:
                return wider
        at = outline.parents[at]
    return choice


def _most_prose(outline: Outline) -> int:
    """Returns the element around the most prose: a paragraph counts fully for its parent, half
    for its grandparent."""
    scores: dict[int, float] = defaultdict(float)
    before, ends, parents, numbers = (
        outline.prose_before, outline.ends, outline.parents, outline.tags,
    )  # fmt: skip
    at, total = 0, len(numbers)
    while at < total:
        number = numbers[at]
        if number == tags.TEXT:
            length, owner = before[at + 1] - before[at], parents[at]
        elif number in tags.PARAGRAPHS:
            length, owner = before[ends[at]] - before[at], parents[at]
            at = ends[at] - 1
        else:
            length, owner = 0, -1
        if length and owner >= 0:
            scores[owner] += length
            if parents[owner] >= 0:
                scores[parents[owner]] += length / 2
        at += 1
    return max(scores, key=scores.__getitem__) if scores else 0
