"""Text that looks like a label, a menu or a part of the page's frame, and is the author's."""

import pytest
from selectolax.lexbor import LexborHTMLParser
from tests.unit.scrapers.test_article_kinds import ENGLISH, URL, page, paragraphs

from curtsy.scrapers.articles.extraction import extract
from curtsy.scrapers.articles.link_lists import is_list_of_text
from curtsy.scrapers.articles.outline import outline_of

pytestmark = pytest.mark.filterwarnings("ignore")  # what libraries say of damaged pages
LINKS = "<ul><li><a href=/1>A small robot to play with</a></li><li><a href=/2>Snow</a></li></ul>"
MIXED = f"<ul><li>{ENGLISH[0]}</li><li><a href=/1>Your list will begin to grow</a></li></ul>"
LINE = "The vote was held again on a Friday evening."


def text_with(inner: str, *, after: str = "") -> str:
    """The text of an article that has `inner` between its paragraphs, and `after` behind them."""
    whole = f"{paragraphs(ENGLISH[:6])}{inner}{paragraphs(ENGLISH[6:])}{after}"
    found = extract(page(f"<article>{whole}</article>"), URL)
    assert found.handed_over is None
    text: str = found.parts["text"]
    assert ENGLISH[0] in text
    return text


@pytest.mark.parametrize(
    "address", ["http://a.example/long/path", "www.a.example", "desk@a.example", "By www.a.example"]
)
def test_a_link_that_shows_its_address_is_kept(address: str) -> None:
    assert address in text_with(f"<p><a href='http://a.example/'>{address}</a></p>")


def test_a_paragraph_that_is_a_link_is_left_out() -> None:
    assert "Read more" not in text_with("<p><a href=/1>Read more: the harbour and you</a></p>")


@pytest.mark.parametrize("before", ["", "<p>What Dennis recommends:</p>"])
@pytest.mark.parametrize("after", ["", "<h2>The other plan</h2>"])
def test_a_list_of_links_within_the_text_is_kept(before: str, after: str) -> None:
    assert "A small robot to play with" in text_with(f"{before}{LINKS}{after}")


@pytest.mark.parametrize("before", ["", "<h3>More</h3>", "<p>Share this</p>"])
def test_a_list_of_links_behind_the_text_is_left_out(before: str) -> None:
    assert "A small robot to play with" not in text_with("", after=f"{before}{LINKS}")


def test_a_linked_item_of_a_list_of_text_is_kept() -> None:
    assert "Your list will begin to grow" in text_with(MIXED)


def test_a_list_without_anything_around_it_is_no_part_of_a_text() -> None:
    body = LexborHTMLParser(f"<body>{LINKS}</body>").body
    assert body is not None
    assert not is_list_of_text(outline_of(body), 1)


def test_an_anchor_without_an_address_is_no_link() -> None:
    assert LINE in text_with(f"<p><a name=vote>{LINE}</a></p>")
    body = LexborHTMLParser(f"<body><p><a name=vote>{LINE}</a></p></body>").body
    assert body is not None
    assert outline_of(body).prose_in(0) == len(LINE)


@pytest.mark.parametrize("loose", [LINE, f"<b>{LINE}</b>", f"<br>{LINE}<br>", f"<div>{LINE}</div>"])
def test_a_sentence_beside_paragraphs_is_kept(loose: str) -> None:
    assert LINE in text_with(loose)


@pytest.mark.parametrize("label", ["Advertisement", f"<div class=box>{LINE}</div>"])
def test_labels_beside_paragraphs_are_left_out(label: str) -> None:
    assert text_with(label) == text_with("")


def test_terms_and_summaries_are_kept() -> None:
    terms = "<dl><dt>Quay</dt><dd>A wall for ships.</dd></dl>"
    text = text_with(f"{terms}<details><summary>Who pays?</summary><p>All.</p></details>")
    assert "Quay" in text
    assert "Who pays?" in text


@pytest.mark.parametrize(
    "names",
    [
        "elementor-widget elementor-widget-text", "overflow-hidden", "md:hidden", "hidden-xs",
        "railway", "no-comments", "comments-open", "hentry category-news tag-harbour",
    ],
)  # fmt: skip
def test_names_of_builders_and_frameworks_drop_no_text(names: str) -> None:
    assert LINE in text_with(f"<div class='{names}'><p>{LINE}</p></div>")


@pytest.mark.parametrize("names", ["widget", "right-rail", "hidden", "comments", "category"])
def test_names_of_the_frame_drop_text(names: str) -> None:
    assert LINE not in text_with(f"<div class='{names}'><p>{LINE}</p></div>")
