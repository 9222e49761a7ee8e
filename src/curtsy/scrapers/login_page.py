"""Reads the page of a login: the hidden fields of its form, and which selectors match.

For the login of a source only: no job names this scraper.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import orjson
from selectolax.lexbor import LexborHTMLParser, LexborNode

from curtsy.model.outcome import Failed, Record, Reply
from curtsy.scrapers.content_verdicts import page_text
from curtsy.scrapers.depth_check import shallow_part

MOST_FIELDS = 50
LONGEST_FIELD = 8_000


def login_page(reply: Reply, params: Mapping[str, Any]) -> Record | Failed:
    """`params["selectors"]` are CSS selectors. A page without HTML has no fields, and no selector
    matches it."""
    page = page_text(reply)
    tree = LexborHTMLParser("" if isinstance(page, Failed) else shallow_part(page.text))
    matches = [one for one in params.get("selectors", ()) if tree.css_first(one) is not None]
    content = orjson.dumps({"hidden": _hidden_fields(tree), "matches": matches})
    return Record(content, "application/json", "utf-8")


def _hidden_fields(tree: LexborHTMLParser) -> dict[str, str]:
    """The hidden fields of the form with a password, else of the first form with any."""
    forms = tree.css("form")
    with_password = [form for form in forms if form.css_first('input[type="password" i]')]
    found = (_fields(form.css('input[type="hidden" i]')) for form in (*with_password, *forms))
    return next((fields for fields in found if fields), {})


def _fields(inputs: Iterable[LexborNode]) -> dict[str, str]:
    pairs = [(one.attributes.get("name"), one.attributes.get("value") or "") for one in inputs]
    short = [(name, value) for name, value in pairs if name and len(name + value) <= LONGEST_FIELD]
    return dict(short[:MOST_FIELDS])
