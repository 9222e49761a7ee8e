"""Decides whether the first tier's article is trusted, or the page handed to the slow tier."""

from curtsy.scrapers.articles.blocks import Block
from curtsy.scrapers.articles.body_choice import Choice

LEAST_SIZE, LEAST_NAMED = 800, 300
WEAK_BELOW = 1_500
WEAK_STAGE = 3
LEAST_KEPT = 0.7
MOST_OUTSIDE = 0.8
MOST_ELSEWHERE = 4.0
MOST_LINKS = 0.25
LEAST_TO_KEEP = 300
MOST_OF_PROSE = 3
"""Times the page's prose. The slow tier's text is that long when it took the menus as well."""


def doubt(blocks: list[Block], choice: Choice, scale: float) -> str | None:
    """Returns why the page is handed over; None: the article is trusted. Lengths are characters
    of writing with spaces, times the `scale` of the page's writing."""
    size = _size(blocks)
    if not size:
        return "nothing"
    if size < LEAST_SIZE * scale and not _is_short_article(size, choice, scale):
        return "short"
    if size < choice.unsifted * LEAST_KEPT:
        return "much left out"
    if choice.outside > MOST_OUTSIDE * max(choice.inside, size):
        return "much outside"
    if choice.elsewhere > MOST_ELSEWHERE * size:
        return "much elsewhere"
    if sum(block.links for block in blocks) > MOST_LINKS * size:
        return "many links"
    if size < WEAK_BELOW * scale and (choice.stage >= WEAK_STAGE or choice.inside < size / 2):
        return "weak"
    return None


def _is_short_article(size: int, choice: Choice, scale: float) -> bool:
    """Whether the element is an article by its name, and most of the page's text is in it."""
    is_named = choice.stage < WEAK_STAGE and size >= LEAST_NAMED * scale
    return is_named and choice.elsewhere <= size


def better(slow: list[Block], first: list[Block], prose: int, scale: float) -> list[Block]:
    """Returns the slow tier's article, unless the slow tier found nothing or the whole page.
    `prose` is the length of the page's prose."""
    size, longest = _size(first), MOST_OF_PROSE * max(prose, _size(first))
    is_whole_page = size >= LEAST_TO_KEEP * scale and _size(slow) > longest
    return first if is_whole_page or not slow else slow


def _size(blocks: list[Block]) -> int:
    return sum(len(block.text) for block in blocks)
