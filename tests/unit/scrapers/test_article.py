"""What the article scraper finds, and what it says when there is nothing to find."""

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curtsy.model.failure_kinds import Kind
from curtsy.model.outcome import Failed, Record, Reply
from curtsy.scrapers.article import article
from curtsy.scrapers.articles.extraction import extract

pytestmark = pytest.mark.filterwarnings("ignore")  # what libraries say of damaged pages

WORDS = "The council met on Tuesday and agreed on a plan for the harbour. " * 20
PAGE = f"""<html lang="en-GB"><head><title>Harbour plan agreed | The Paper</title>
<meta property="og:title" content="Harbour plan agreed"><meta name="author" content="Ann Lee">
<meta property="article:published_time" content="2025-03-04T10:00:00Z"></head>
<body><nav><a href="/">Home</a><a href="/sport">Sport</a></nav>
<article><h1>Harbour plan agreed</h1><p>{WORDS}</p>
<h2>Costs</h2><p>It costs <b>much</b>. {WORDS}</p>
<ul><li>first point of the plan</li><li>second point of the plan</li></ul></article>
<footer>Copyright</footer></body></html>"""

GERMAN = """<title>The Paper</title><p>Diese Seite wurde nicht gefunden, leider. Suchen Sie bitte
etwas anderes.</p>"""
WALL = """<title>News</title><article><p>We value your privacy. We and our 812 partners store
cookies on your device. Accept all cookies, or manage your cookie settings, to read on.</p>
</article>"""


def reply(body: str | bytes, content_type: str = "text/html", status: int = 200) -> Reply:
    body = body.encode() if isinstance(body, str) else body
    return Reply(status, "http://a.example/x", {"content-type": content_type}, body, len(body))


def found(outcome: Record | Failed) -> dict[str, str]:
    assert isinstance(outcome, Record), outcome
    return orjson.loads(outcome.content)


def test_an_article_has_all_its_parts() -> None:
    parts = found(article(reply(PAGE)))
    assert parts["title"] == "Harbour plan agreed"
    assert parts["byline"] == "Ann Lee"
    assert parts["date"] == "2025-03-04"
    assert parts["language"] == "en"
    assert WORDS.strip() in parts["text"]
    assert "Sport" not in parts["text"]
    assert "Copyright" not in parts["text"]
    assert "## Costs" in parts["markdown"]
    assert "**much**" in parts["markdown"]
    assert "- first point of the plan" in parts["markdown"]
    assert "**" not in parts["text"]


def test_the_same_page_gives_the_same_record() -> None:
    assert article(reply(PAGE)) == article(reply(PAGE))


@pytest.mark.parametrize("charset", ["utf-8", "cp1251", "utf-16"])
def test_the_text_is_read_in_its_charset(charset: str) -> None:
    body = f"<article><p>{'Совет города принял план гавани во вторник. ' * 20}</p></article>"
    parts = found(article(reply(body.encode(charset), f"text/html; charset={charset}")))
    assert "принял план гавани" in parts["text"]


@pytest.mark.parametrize(
    ("page", "kind", "says"),
    [
        ("<title>404</title><p>Try the search.</p>", Kind.GONE, "does not exist"),
        ("<title>Page not found - The Paper</title><p>Oops!</p>", Kind.GONE, "does not exist"),
        (GERMAN, Kind.GONE, "does not exist"),
        (WALL, Kind.EXTRACT_FAILED, "consent"),
        ("<html><body></body></html>", Kind.EXTRACT_FAILED, "No article"),
        ("", Kind.EXTRACT_FAILED, "No article"),
        ("<p>Hi.</p>", Kind.EXTRACT_FAILED, "No article"),
        ("\0\0\0", Kind.EXTRACT_FAILED, "No article"),
    ],
)  # fmt: skip
def test_what_is_no_article_is_no_success(page: str, kind: Kind, says: str) -> None:
    outcome = article(reply(page))
    assert isinstance(outcome, Failed)
    assert outcome.kind is kind, outcome
    assert says in outcome.error


@pytest.mark.parametrize(
    "title", ["Court finds key evidence not found in archive", "How we built our cookie consent"]
)
def test_an_article_about_such_pages_is_an_article(title: str) -> None:
    body = f"<title>{title}</title><article><h1>{title}</h1><p>{title}. {WORDS}</p></article>"
    assert isinstance(article(reply(body)), Record)


@pytest.mark.parametrize("kind", ["image/png", "application/pdf", "application/json", "video/mp4"])
def test_what_is_not_html_is_not_supported(kind: str) -> None:
    outcome = article(reply(b"%PDF-1.7", kind))
    assert isinstance(outcome, Failed)
    assert outcome.kind is Kind.NOT_SUPPORTED


@settings(max_examples=150, deadline=None)
@given(st.text(st.sampled_from(list("<>/=\"'&;!-[]?abdipth \n\0é")), max_size=400))
def test_any_soup_has_an_outcome(soup: str) -> None:
    outcome = article(reply(soup))
    assert isinstance(outcome, Record | Failed)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_a_damaged_page_has_an_outcome(data: st.DataObject) -> None:
    body = bytearray(PAGE.encode())
    for _ in range(data.draw(st.integers(1, 8))):
        at = data.draw(st.integers(0, len(body) - 1))
        match data.draw(st.sampled_from(["change", "cut", "double"])):
            case "change":
                body[at] = data.draw(st.integers(0, 255))
            case "cut":
                del body[at : at + data.draw(st.integers(1, 200))]
                body = body or bytearray(b"x")
            case "double":
                body[at:at] = body[at : at + data.draw(st.integers(1, 200))]
    assert isinstance(article(reply(bytes(body))), Record | Failed)


TAGS = ["p", "div", "ul", "ol", "li", "table", "tr", "td", "th", "blockquote", "pre", "code", "a",
        "b", "em", "span", "h1", "h2", "article", "section", "aside", "figure", "br", "dl", "dd",
        "svg", "template", "select", "center", "math"]  # fmt: skip
NAMES = ["", " class=share", " class='article-body'", " id=comments", " class=hidden", " hidden",
         " class=byline", " href=/x", " role=navigation", " itemprop=articleBody"]  # fmt: skip
PIECES = st.tuples(
    st.sampled_from(["<", "</", "word"]), st.sampled_from(TAGS), st.sampled_from(NAMES)
)


@settings(max_examples=300, deadline=None)
@given(st.lists(PIECES, max_size=120), st.booleans())
def test_any_tree_has_an_outcome_and_no_word_twice(
    pieces: list[tuple[str, str, str]], has_article: bool
) -> None:
    words = (f" word{n} " * (kind == "word") for n, (kind, _, _) in enumerate(pieces))
    soup = "".join(
        word or (f"<{tag}{names}>" if kind == "<" else f"</{tag}>")
        for word, (kind, tag, names) in zip(words, pieces, strict=True)
    )
    page = f"<html><body>{f'<article><p>{WORDS}</p>' if has_article else ''}{soup}"
    assert isinstance(article(reply(page)), Record | Failed)
    found = extract(page, "http://a.example/x")
    met = [word for word in found.parts["text"].split() if word.startswith("word")]
    assert found.handed_over is not None or len(met) == len(set(met))
