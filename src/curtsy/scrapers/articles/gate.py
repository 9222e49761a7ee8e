"""Decides whether the first tier's article is trusted, or the page handed to the slow tier."""

from curtsy.scrapers.articles.blocks import Block
from curtsy.scrapers.articles.body_choice import Choice

LEAST_SIZE = 800
WEAK_BELOW = 1_500
WEAK_STAGE = 3
LEAST_KEPT = 0.7
MOST_OUTSIDE = 0.4
MOST_ELSEWHERE = 2.0
MOST_LINKS = 0.25


def doubt(blocks: list[Block], choice: Choice, scale: float) -> str | None:
    """Returns why the page is handed over; None: the article is trusted. Lengths are characters
    of writing with spaces, times the `scale` of the page's writing."""
    size = sum(len(block.text) for block in blocks)
    if not size:
        return "nothing"
    if size < LEAST_SIZE * scale:
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
