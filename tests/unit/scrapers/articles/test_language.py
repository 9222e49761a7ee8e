"""The language of an article is what the page declares, else what the text looks like."""

import subprocess
import sys

import orjson
import pytest

from curtsy.model.outcome import Record, Reply
from curtsy.scrapers.article import article
from curtsy.scrapers.articles.language import LEAST_TEXT, language_of
from support.language_texts import TEXTS

DATA = '<script type="application/ld+json">'
RELATED = {"hr": {"hr", "bs"}}
"""Croatian and Bosnian differ in a word here and there."""


def stated(page: str, **headers: str) -> tuple[str | None, str | None]:
    body = page.encode()
    outcome = article(Reply(200, "http://a.example/x", {"content-type": "text/html"} | headers,
                            body, len(body)))  # fmt: skip
    assert isinstance(outcome, Record)
    parts = orjson.loads(outcome.content)
    return parts["language"], parts["language_source"]


def page(text: str, html: str = "<html>", head: str = "") -> str:
    return f"{html}<head><meta charset=utf-8>{head}</head><article><p>{text * 3}</p></article>"


@pytest.mark.parametrize("code", TEXTS)
def test_a_language_that_nobody_declares_is_detected(code: str) -> None:
    found = language_of(None, TEXTS[code])
    assert found.code in RELATED.get(code, {code})
    assert found.source == "detected"


def test_thirty_languages_are_tried() -> None:
    assert len(TEXTS) >= 30


@pytest.mark.parametrize(
    ("html", "head", "declared"),
    [
        ("<html lang=de-AT>", "", "de"),
        ("<html xml:lang=de>", "", "de"),
        ("<html>", '<meta property="og:locale" content="de_DE">', "de"),
        ("<html>", '<meta http-equiv="Content-Language" content="de, en">', "de"),
        ("<html>", f'{DATA}{{"@type":"Article","inLanguage":"de-DE"}}</script>', "de"),
        ("<html lang=und>", '<meta property="og:locale" content="de_DE">', "de"),
        ("<html lang='{{lang}}'>", '<meta property="og:locale" content="de_DE">', "de"),
    ],
)  # fmt: skip
def test_a_declaration_is_found_where_it_stands(html: str, head: str, declared: str) -> None:
    assert stated(page(TEXTS["de"], html, head)) == (declared, "declared")


def test_the_header_counts_where_the_page_is_silent() -> None:
    header = {"content-language": "de"}
    assert stated(page(TEXTS["de"]), **header) == ("de", "declared")
    assert stated(page(TEXTS["de"], "<html lang=fr>"), **header) == ("fr", "declared")


@pytest.mark.parametrize("code", ["de", "fr", "es", "nl", "pl", "ru", "ja", "ko", "ar"])
def test_english_that_a_template_declares_is_not_believed(code: str) -> None:
    assert stated(page(TEXTS[code], "<html lang=en>")) == (code, "detected")


def test_other_declarations_are_believed() -> None:
    """They are rarely wrong, and checking them would cost every page."""
    assert stated(page(TEXTS["fr"], "<html lang=de>")) == ("de", "declared")
    assert stated(page(TEXTS["en"], "<html lang=en>")) == ("en", "declared")


@pytest.mark.parametrize(
    "text", ["", "Harbour", "1 2 3 4 5 6 " * 50, "\0\0\ud800" * 100, "😀" * 200, "= + - ()" * 99]
)
def test_what_is_no_text_has_no_language(text: str) -> None:
    assert language_of(None, text) == (None, None)


def test_a_text_too_short_to_tell_has_no_language() -> None:
    assert language_of(None, TEXTS["de"][: LEAST_TEXT - 1]).code is None


def test_a_long_text_is_no_more_work() -> None:
    assert language_of(None, TEXTS["fr"] * 50_000).code == "fr"


def test_the_detector_is_not_loaded_for_pages_that_declare_their_language() -> None:
    """A new process, since another test may have loaded it here."""
    code = (
        "import sys; from curtsy.scrapers.articles.language import language_of\n"
        "language_of('de', 'Ein kurzer Text. ' * 20); assert 'gcld3' not in sys.modules\n"
        "language_of(None, 'Ein kurzer Text. ' * 20); assert 'gcld3' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
