"""Tells lists that are part of the text from lists of links to other pages."""

from curtsy.scrapers.articles import tags
from curtsy.scrapers.articles.outline import Outline

FEW_LINKS = 0.5
"""Share of the list's text. A list with fewer links is text, and so are its items."""
LEAST_AROUND = 80
"""Characters of prose in the paragraphs around a list that is not announced by a colon."""
_COLONS = (":", "：")
DEEPEST = 12


def is_list_of_text(outline: Outline, at: int) -> bool:
    """Whether the list has few links, or stands within the text: behind a
    paragraph and in front of more."""
    if outline.links_in(at) < FEW_LINKS * outline.text_in(at):
        return True
    before, after = _sibling_before(outline, at), _sibling_after(outline, at)
    if before < 0 or after < 0 or outline.tags[before] != tags.P:
        return False
    is_announced = "".join(outline.texts[before : outline.ends[before]]).rstrip().endswith(_COLONS)
    least = 1 if is_announced else LEAST_AROUND
    number = outline.tags[after]
    return outline.prose_in(before) >= least and (
        number in tags.HEADINGS or (number == tags.P and outline.prose_in(after) >= least)
    )


def _sibling_before(outline: Outline, at: int) -> int:
    """Returns the element in front of another one, with only space between; -1: there is none."""
    parent, found = outline.parents[at], at - 1
    for _ in range(DEEPEST):
        if found <= parent:
            return -1
        if outline.parents[found] != parent:
            found = outline.parents[found]
        elif outline.tags[found] == tags.TEXT and not outline.texts[found].strip():
            found -= 1
        else:
            return found
    return -1


def _sibling_after(outline: Outline, at: int) -> int:
    parent, found = outline.parents[at], outline.ends[at]
    for _ in range(2):
        if found >= len(outline.tags) or outline.parents[found] != parent:
            return -1
        if outline.tags[found] != tags.TEXT or outline.texts[found].strip():
            return found
        found += 1
    return -1
