"""What the slow tier finds, and when its article is believed."""

import pytest

from curtsy.scrapers.articles.blocks import Block, Kind, as_written
from curtsy.scrapers.articles.gate import better
from curtsy.scrapers.articles.slow_tier import slow_blocks

URL = "http://a.example/x"
SENTENCE = "The council met on Tuesday and agreed on a plan for the harbour and its costs."


def block(text: str, markdown: str = "") -> Block:
    return Block(Kind.PARAGRAPH, text, markdown or text)


def test_paragraphs_with_links_are_kept() -> None:
    linked = f'<p>{SENTENCE} See <a href="/plan">the plan of the whole harbour</a>.</p>'
    page = f"<html><body><article>{linked}{f'<p>{SENTENCE * 3}</p>' * 5}</article></body></html>"
    texts = [b.text for b in slow_blocks(page, URL, lambda href: href, thorough=False)]
    assert f"{SENTENCE} See the plan of the whole harbour." in texts


def test_a_line_of_the_page_keeps_its_marks() -> None:
    known, new = block("a b", "a [b](/c)"), block("d")
    assert as_written([block("a b"), new], [known]) == [known, new]


@pytest.mark.parametrize(
    ("slow", "first", "is_slow"),
    [(1_000, 500, True), (4_000, 500, False), (4_000, 200, True), (0, 500, False), (400, 0, True)],
)
def test_the_whole_page_and_nothing_are_not_believed(slow: int, first: int, is_slow: bool) -> None:
    theirs, ours = ([block("a" * size)] if size else [] for size in (slow, first))
    assert better(theirs, ours, 1_000, 1.0) is (theirs if is_slow else ours)
