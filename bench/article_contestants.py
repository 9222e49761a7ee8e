"""The ways to extract an article that `bench.article_score` compares."""

import gzip
import logging
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import orjson
from trafilatura import bare_extraction
from trafilatura.settings import Document
from trafilatura.utils import load_html
from trafilatura.xml import xmltotxt

from curtsy.model.outcome import Failed, Reply
from curtsy.scrapers.article import article
from curtsy.scrapers.articles.extraction import extract
from curtsy.scrapers.charset import text_of

SHORT = 800
_HTML = "text/html"

logging.disable(logging.CRITICAL)  # trafilatura's, of pages that it cannot read


class SavedPage(NamedTuple):
    id: str
    url: str
    body: bytes
    text: str
    """Decoded, so that only the scraper pays for finding the charset."""


def saved_pages(folder: Path, truths: Mapping[str, Any]) -> Iterator[SavedPage]:
    inner = folder / "html"
    for path in sorted((inner if inner.is_dir() else folder).iterdir()):
        id_ = path.name.removesuffix(".gz").removesuffix(".html")
        if id_ == path.name:
            continue
        body = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        url = truths.get(id_, {}).get("url") or "http://a.example/"
        url = url if "://" in url else f"http://{url}"
        yield SavedPage(id_, url, body, text_of(body, _HTML)[0])


def scraper(page: SavedPage) -> Mapping[str, Any]:
    """All that the scraper does to a fetched page."""
    outcome = article(Reply(200, page.url, {"content-type": _HTML}, page.body, len(page.body)))
    if isinstance(outcome, Failed):
        return {}
    parts = orjson.loads(outcome.content)
    return parts | {"author": parts.get("byline")}


def fast_first(page: SavedPage) -> Mapping[str, Any]:
    """trafilatura without its fallbacks; with them where that gave little."""
    found = _trafilatura(page, fast=True)
    if len(found.get("text", "")) < SHORT:
        found = _trafilatura(page, fast=False) or found
    return found


def trafilatura(page: SavedPage) -> Mapping[str, Any]:
    return _trafilatura(page, fast=False)


def _trafilatura(page: SavedPage, *, fast: bool) -> Mapping[str, Any]:
    tree = load_html(page.text)
    document = None if tree is None else bare_extraction(
        tree, url=page.url, fast=fast, include_comments=False, include_formatting=True,
        with_metadata=True, output_format="markdown",
    )  # fmt: skip
    if not isinstance(document, Document):
        return {}
    return {
        "title": document.title,
        "author": document.author,
        "date": document.date,
        "text": xmltotxt(document.body, include_formatting=False).strip(),
        "markdown": xmltotxt(document.body, include_formatting=True).strip(),
    }


def hand_over(page: SavedPage) -> str | None:
    """Returns why the scraper's first tier hands the page over; None: it does not."""
    return extract(page.text, page.url).handed_over


CONTESTANTS: dict[str, Callable[[SavedPage], Mapping[str, Any]]] = {
    "scraper": scraper,
    "fast first": fast_first,
    "trafilatura": trafilatura,
}
