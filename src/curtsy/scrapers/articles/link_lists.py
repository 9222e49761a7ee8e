"""Tells lists that are part of the text from lists of links to other pages."""

from curtsy.scrapers.articles import tags
from curtsy.scrapers.articles.outline import Outline

FEW_LINKS = 0.5
"""Share of the list's text. A list with fewer links is text, and so are its items."""
LEAST_BEFORE = 80
"""Characters of prose in the paragraph in front of a list."""
DEEPEST = 12


def is_list_of_text(outline: Outline, at: int) -> bool:
    """Whether the list has few links, or stands within the text: behind a
    paragraph and in front of more."""
    if outline.links_in(at) < FEW_LINKS * outline.text_in(at):
        return True
    before, after = _sibling_before(outline, at), _sibling_after(outline, at)
    return before >= 0 and after >= 0 and _leads_in(outline, before) and _goes_on(outline, after)


def _leads_in(outline: Outline, at: int) -> bool:
    """Whether an element is a paragraph of some length, or one that announces a list."""
    if outline.tags[at] != tags.P:
        return False
    if outline.prose_in(at) >= LEAST_BEFORE:
        return True
    return "".join(outline.texts[at : outline.ends[at]]).rstrip().endswith((":", "："))


def _goes_on(outline: Outline, at: int) -> bool:
    number = outline.tags[at]
    return number in tags.HEADINGS or (number == tags.P and outline.prose_in(at) > 0)


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
