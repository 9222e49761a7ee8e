"""The paragraphs, headings, items, tables and images of an article, in order."""

from dataclasses import dataclass
from enum import Enum, auto

LEAST_REPEATED = 40
"""Characters. A paragraph that says again what the one before says is there for another size of
screen. Shorter ones, and repeats further on, are the author's: recipes and timetables have them."""
SHORT_BARE, MUCH_PROSE = 200, 600
"""Beside this much text in paragraphs, shorter bare text is a label, a credit or a button."""


class Kind(Enum):
    PARAGRAPH = auto()
    BARE = auto()
    """Text that stands in no paragraph."""
    HEADING = auto()
    ITEM = auto()
    CODE = auto()
    TABLE = auto()
    IMAGE = auto()
    RULE = auto()


@dataclass(slots=True)
class Block:
    kind: Kind
    text: str
    markdown: str
    links: int = 0
    """Characters in links."""
    level: int = 0
    """Of a heading."""
    list_at: int = -1
    """Which list the block is an item of; blocks of one list stand in lines without space."""
    quote_at: int = -1
    """Which quotation the block is part of; its mark goes on between the blocks."""


_NO_TEXT = frozenset({Kind.HEADING, Kind.RULE, Kind.IMAGE})


def tidied(blocks: list[Block], title: str | None, scale: float) -> list[Block]:
    """Drops labels, repeats, the title, headings of nothing and rules at the ends."""
    prose, bare = (
        sum(len(b.text) for b in blocks if b.kind is kind) for kind in (Kind.PARAGRAPH, Kind.BARE)
    )
    least = SHORT_BARE * scale if prose >= max(MUCH_PROSE * scale, bare) else 0
    kept: list[Block] = []
    for block in blocks:
        text = block.text
        if block.kind is Kind.BARE and len(text) < least:
            continue
        if kept and len(text) >= LEAST_REPEATED * scale and text == kept[-1].text:
            continue
        if block.kind is Kind.HEADING and title and _same(text, title):
            continue
        kept.append(block)
    return kept[_begin(kept, title) : _end(kept)]


def _end(blocks: list[Block]) -> int:
    """Returns where the text ends: in front of a last heading, a last rule and what images they
    have."""
    end = at = len(blocks)
    while at and blocks[at - 1].kind in _NO_TEXT:
        at -= 1
        if blocks[at].kind is not Kind.IMAGE:
            end = at
    return end


def _begin(blocks: list[Block], title: str | None) -> int:
    """Returns where the text begins: behind rules, and behind the headline of a page that states
    its title elsewhere."""
    for number, block in enumerate(blocks):
        is_headline = title and block.kind is Kind.HEADING and block.level == 1
        if block.kind is not Kind.RULE and not is_headline:
            return number
    return len(blocks)


def as_written(blocks: list[Block], written: list[Block]) -> list[Block]:
    """Returns the blocks, each as the page has it where the same text was written from the page:
    with its links and images."""
    known = {block.text: block for block in written if block.text}
    return [known.get(block.text, block) for block in blocks]


def _same(heading: str, title: str) -> bool:
    return heading.casefold() == title.casefold()


def text_of(blocks: list[Block]) -> str:
    return "\n".join(block.text for block in blocks if block.text)


def _between(before: Block, after: Block) -> str:
    if before.list_at == after.list_at >= 0:
        return "\n"
    return "\n>\n" if before.quote_at == after.quote_at >= 0 else "\n\n"


def markdown_of(blocks: list[Block]) -> str:
    pieces: list[str] = []
    before: Block | None = None
    for block in blocks:
        if before is not None:
            pieces.append(_between(before, block))
        pieces.append(block.markdown)
        before = block
    return "".join(pieces)
