"""The body of a page as flat lists in the order of the page: what later steps ask of a part of
the page, sums of lengths and counts, is a difference of two entries."""

from collections.abc import Iterator, Mapping
from itertools import accumulate

from selectolax.lexbor import LexborNode

from curtsy.scrapers.articles import tags
from curtsy.scrapers.articles.class_words import (
    COMMENTS,
    HIDDEN,
    LONGEST_NAMES,
    NOISE,
    meaning_of,
)

MOST_ENTRIES = 400_000
"""Elements and texts. What follows is left out: no article is that long, and lists need memory."""
LONG_TEXT = 80
"""Characters. A bare text of this length counts as prose."""
MOST_NOISE, MOST_COMMENTS = 0.3, 0.95
"""Shares of the page's text above which an element is kept in spite of its names."""
LEAST_LEFT_BY_NAMES = 1 / 3
WORDS_AROUND = 3
"""An inline element is part of a sentence when the line is longer than this many times it."""
_NO_ATTRIBUTES: Mapping[str, str | None] = {}
_NOISY_ROLES = frozenset({
    "navigation", "banner", "complementary", "contentinfo", "search", "menu", "menubar", "dialog",
    "alertdialog", "toolbar", "tooltip", "button", "tablist",
})  # fmt: skip


class Outline:
    """Each list has one entry for each element and each text, and the sums one more at the end."""

    def __init__(self) -> None:
        self.tags: list[int] = []
        self.ends: list[int] = []
        """Where the entries after the element's content begin."""
        self.parents: list[int] = []
        self.attributes: list[Mapping[str, str | None]] = []
        self.texts: list[str] = []
        """Of texts as written; empty for elements."""
        self.meanings: list[int] = []
        """Flags of `class_words`."""
        self.is_noise: list[bool] = []
        self.text_before: list[int] = []
        """Characters of all texts in front of the entry, without space around them."""
        self.link_before: list[int] = []
        """Of those in links."""
        self.prose_before: list[int] = []
        """Of those in paragraphs, and in longer runs of bare text, but not in links."""
        self.unsifted_before: list[int] = []
        """The same, with what names say is no part of the article."""
        self.is_cut = False

    def outside_comments(self) -> Iterator[int]:
        """Returns the entries in order, without what readers wrote and without quotations."""
        at, total = 0, len(self.tags)
        meanings, ends, numbers = self.meanings, self.ends, self.tags
        while at < total:
            if numbers[at] == tags.BLOCKQUOTE or (meanings[at] & COMMENTS and self.is_noise[at]):
                at = ends[at]
                continue
            yield at
            at += 1

    def text_in(self, at: int) -> int:
        return self.text_before[self.ends[at]] - self.text_before[at]

    def links_in(self, at: int) -> int:
        return self.link_before[self.ends[at]] - self.link_before[at]

    def prose_in(self, at: int) -> int:
        return self.prose_before[self.ends[at]] - self.prose_before[at]


def outline_of(body: LexborNode) -> Outline:
    """Lays out the element and its content."""
    out = Outline()
    numbers, parents, ends = out.tags, out.parents, out.ends
    lengths: list[int] = []
    open_nodes: list[LexborNode] = []
    open_at: list[int] = []
    skipped, is_text = tags.SKIPPED, tags.TEXT
    node: LexborNode | None = body
    parent = -1
    while node is not None and not out.is_cut:
        at = len(numbers)
        number = node.tag_id
        numbers.append(number)
        parents.append(parent)
        ends.append(at + 1)
        child = None
        if number == is_text:
            lengths.append(_add_text(out, node.text_content or ""))
        else:
            lengths.append(0)
            if number in skipped:
                _add_element(out, _NO_ATTRIBUTES)
            else:
                _add_element(out, node.attributes or _NO_ATTRIBUTES)
                child = node.first_child
        out.is_cut = at >= MOST_ENTRIES
        if child is not None:
            open_nodes.append(node)
            open_at.append(at)
            parent, node = at, child
            continue
        node = node.next if open_nodes else None
        while node is None and open_nodes:
            closed = open_nodes.pop()
            ends[open_at.pop()] = at + 1
            parent = open_at[-1] if open_at else -1
            node = closed.next if open_nodes else None
    for still_open in open_at:
        ends[still_open] = len(numbers)
    _sum_up(out, lengths)
    return out


def _add_text(out: Outline, text: str) -> int:
    """Returns the length of the text without space around it."""
    out.texts.append(text)
    out.attributes.append(_NO_ATTRIBUTES)
    out.meanings.append(0)
    return len(text.strip())


def _add_element(out: Outline, attributes: Mapping[str, str | None]) -> None:
    out.texts.append("")
    out.attributes.append(attributes)
    out.meanings.append(_meaning(attributes) if attributes else 0)


def _meaning(attributes: Mapping[str, str | None]) -> int:
    """Returns the flags of the element's names. What is hidden or has a noisy role is noise."""
    meaning = 0
    names = f"{attributes.get('class') or ''} {attributes.get('id') or ''}"
    if len(names) > 1:
        meaning = meaning_of(names[:LONGEST_NAMES])
    style = (attributes.get("style") or "")[:LONGEST_NAMES]
    is_hidden = "hidden" in attributes or (
        "none" in style and "display:none" in style.replace(" ", "").lower()
    )
    if is_hidden:
        return meaning | NOISE | HIDDEN
    return meaning | NOISE if attributes.get("role") in _NOISY_ROLES else meaning


def _sum_up(out: Outline, lengths: list[int]) -> None:
    """Fills the sums. Names are not heeded where they would leave too little: then the site uses
    the words in a sense of its own."""
    out.text_before = list(accumulate(lengths, initial=0))
    out.is_noise = _noise(out)
    prose, links, all_prose, all_links = _prose_and_links(out, lengths)
    if sum(prose) < sum(all_prose) * LEAST_LEFT_BY_NAMES:
        pairs = zip(out.is_noise, out.meanings, strict=True)
        out.is_noise = [is_noise and meaning & COMMENTS > 0 for is_noise, meaning in pairs]
        prose, links = all_prose, all_links
    out.link_before = list(accumulate(links, initial=0))
    out.prose_before = list(accumulate(prose, initial=0))
    out.unsifted_before = list(accumulate(all_prose, initial=0))


def _noise(out: Outline) -> list[bool]:
    """Which elements are no part of an article by their names. An element that holds much of the
    page is, whatever its name, and so are words within a sentence."""
    before, ends = out.text_before, out.ends
    most_noise, most_comments = (before[-1] * share for share in (MOST_NOISE, MOST_COMMENTS))
    is_noise = [False] * len(ends)
    never = tags.NEVER_NOISE
    for at, meaning in enumerate(out.meanings):
        if meaning & (NOISE | COMMENTS) and out.tags[at] not in never:
            length = before[ends[at]] - before[at]
            is_noise[at] = length <= (most_comments if meaning & COMMENTS else most_noise) and (
                meaning & HIDDEN > 0 or not _is_in_sentence(out, at, length)
            )
    return is_noise


def _is_in_sentence(out: Outline, at: int, length: int) -> bool:
    """Whether an element is words of a longer line of running text."""
    parent = out.parents[at]
    if out.tags[at] not in tags.INLINE or parent < 0 or out.tags[parent] not in tags.SENTENCES:
        return False
    return out.text_in(parent) > WORDS_AROUND * length


def _prose_and_links(
    out: Outline, lengths: list[int]
) -> tuple[list[int], list[int], list[int], list[int]]:
    """Returns the characters of each text, if it is prose and if it is a link: first without all
    noise, then without comments alone."""
    links, prose = [0] * len(lengths), [0] * len(lengths)
    all_links, all_prose = links.copy(), links.copy()
    link_end = prose_end = noise_end = at = 0
    numbers, ends, parents, is_noise = out.tags, out.ends, out.parents, out.is_noise
    paragraphs, is_text, link, total = tags.PARAGRAPHS, tags.TEXT, tags.A, len(lengths)
    while at < total:
        number = numbers[at]
        if number == is_text:
            length = lengths[at]
            if length:
                if at < link_end:
                    all_links[at] = length
                    if at >= noise_end:
                        links[at] = length
                elif at < prose_end or (length > LONG_TEXT and _is_bare(numbers, parents, at)):
                    all_prose[at] = length
                    if at >= noise_end:
                        prose[at] = length
            at += 1
            continue
        if is_noise[at]:
            if out.meanings[at] & COMMENTS:
                at = ends[at]
                continue
            noise_end = max(noise_end, ends[at])
        if number == link and "href" in out.attributes[at]:
            link_end = max(link_end, ends[at])
        elif number in paragraphs:
            prose_end = max(prose_end, ends[at])
        at += 1
    return prose, links, all_prose, all_links


def _is_bare(numbers: list[int], parents: list[int], at: int) -> bool:
    """Whether a text stands in a container, at most a few inline elements deep."""
    for _ in range(4):
        at = parents[at]
        if at < 0:
            return False
        if numbers[at] in tags.CONTAINERS:
            return True
        if numbers[at] not in tags.INLINE:
            return False
    return False
