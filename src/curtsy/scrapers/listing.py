"""Extracts the records of a listing page by a recipe. A page on which the selectors no longer
match fails; it does not count as empty."""

from collections.abc import Mapping
from itertools import islice
from typing import Any, NamedTuple

from selectolax.lexbor import LexborHTMLParser, LexborNode

from curtsy.model.failure_kinds import Kind
from curtsy.model.link import Link
from curtsy.model.outcome import Failed, Record, Reply
from curtsy.scrapers.content_verdicts import PageText, page_text
from curtsy.scrapers.depth_check import DEEPEST, shallow_part
from curtsy.scrapers.field_values import Values, distinct_nodes, each_once
from curtsy.scrapers.links import base_of
from curtsy.scrapers.recipe import BadPattern, BadRecipe, Recipe, parse_recipe
from curtsy.scrapers.record_keys import NOTHING, distinct, key_of, listing_page, stored_page

MOST_RECORDS = 1_000
"""Of one page."""

Lines = list[tuple[str, str]]
Fields = dict[str, Any]


def listing(reply: Reply, params: Mapping[str, Any]) -> Record | Failed:
    try:
        return scrape_listing(reply, parse_recipe(params.get("recipe") or {}))
    except BadRecipe as bad:
        sentence = f"The scraper listing has no usable recipe: {' '.join(bad.problems)}"
    except BadPattern as bad:
        sentence = f"The scraper listing has no usable recipe: a pattern {bad}."
    return Failed(Kind.NOT_SUPPORTED, sentence[:2_000], reply.status)


def scrape_listing(reply: Reply, recipe: Recipe) -> Record | Failed:
    page = page_text(reply)
    if isinstance(page, Failed):
        return page
    return _Page(page, reply, recipe).read()


class _Elements(NamedTuple):
    records: list[LexborNode]
    has_list: bool


class _Page:
    def __init__(self, page: PageText, reply: Reply, recipe: Recipe) -> None:
        text = shallow_part(page.text)
        self._tree, self._recipe, self._reply = LexborHTMLParser(text), recipe, reply
        self._base = base_of(self._tree, reply.url, page.charset)
        self._lines: Lines = []
        if len(text) < len(page.text):
            self._warn(f"The page nests more than {DEEPEST} elements; it was read up to there.")

    def read(self) -> Record | Failed:
        records, has_list = self._elements()
        if self._has(self._recipe.empty):
            if records:
                self._warn(f"Both empty and {_number_of(len(records), 'record')} are on the page; "
                           "it counts as empty.")  # fmt: skip
            return self._result([], is_empty=True)
        if not records and has_list:
            return self._result([], is_empty=True)
        if not records:
            return self._broken()
        values = {name: Values(f, self._base) for name, f in self._recipe.fields.items()}
        every = [{name: of.of(record) for name, of in values.items()}
                 for record in self._within_limit(records)]  # fmt: skip
        whole = self._complete_records(every)
        if isinstance(whole, Failed):
            return whole
        keyed = [(key_of(fields, self._recipe.key), fields) for fields in whole]
        return self._result(distinct(keyed, self._warn), is_empty=False)

    def _elements(self) -> _Elements:
        if self._recipe.list is None:
            everywhere = distinct_nodes(self._tree.css(self._recipe.record))
            return _Elements(list(islice(everywhere, MOST_RECORDS + 1)), False)
        containers = self._tree.css(self._recipe.list)
        met: dict[int, LexborNode] = {}
        for container in containers:
            for record in each_once(container, self._recipe.record):
                met.setdefault(record.mem_id, record)
            if len(met) > MOST_RECORDS:
                break
        return _Elements(list(met.values()), bool(containers))

    def _within_limit(self, records: list[LexborNode]) -> list[LexborNode]:
        if len(records) > MOST_RECORDS:
            self._warn(f"There are more than {MOST_RECORDS} records on the page; "
                       "the rest were left out.")  # fmt: skip
        return records[:MOST_RECORDS]

    def _complete_records(self, records: list[Fields]) -> list[Fields] | Failed:
        """Returns the records with all required fields; fails when most records lack one."""
        lacking = {
            name: sum(fields[name] in NOTHING for fields in records)
            for name, field in self._recipe.fields.items()
            if field.required
        }
        whole = [fields for fields in records if all(fields[n] not in NOTHING for n in lacking)]
        left_out = len(records) - len(whole)
        if not left_out:
            return whole
        worst = max(lacking, key=lacking.__getitem__)
        selector = self._recipe.fields[worst].css or self._recipe.record
        what = (f"{left_out} of {_number_of(len(records), 'record')} lack a required field, most "
                f"often {worst} ({selector!r}, {lacking[worst]} times)")  # fmt: skip
        if left_out * 2 > len(records):
            return self._failed(f"{what}: the site may have changed, or record selects other "
                                "things than records.")  # fmt: skip
        self._warn(f"{what}, and were left out.")
        return whole

    def _broken(self) -> Failed:
        """Returns the failure of a page on which no selector of the recipe matches."""
        recipe = self._recipe
        if recipe.list is not None and self._has(recipe.record):
            return self._failed(
                f"Records ({recipe.record!r}) are on the page, but not in list ({recipe.list!r}), "
                "which is missing: the site may have changed."
            )
        looked_for = [f"{name} ({selector!r})" for name in ("record", "list", "empty")
                      if (selector := getattr(recipe, name)) is not None]  # fmt: skip
        hint = "" if len(looked_for) > 1 else (
            " If the listing may be empty, add list or empty to the recipe to recognise that."
        )  # fmt: skip
        return self._failed(
            f"Nothing on the page matches {' or '.join(looked_for)}: the site may have changed, "
            f"or the page is not the listing but a wall or an error page.{hint}"
        )

    def _failed(self, sentence: str) -> Failed:
        status, lines = self._reply.status, tuple(self._lines)
        return Failed(Kind.EXTRACT_FAILED, sentence, status, lines=lines)

    def _result(self, records: list[dict[str, Any]], *, is_empty: bool) -> Record:
        following = self._next()
        page = listing_page(records, following=following, is_empty=is_empty)
        return stored_page(page, declared=self._recipe.fields, lines=self._lines,
                           links=(Link(following),) if following is not None else ())  # fmt: skip

    def _next(self) -> str | None:
        """Returns the next page; the link may be inside the element that `next` selects."""
        node = self._tree.css_first(self._recipe.next) if self._recipe.next is not None else None
        if node is not None and not node.attributes.get("href"):
            node = node.css_first("a[href]")
        if node is None:
            return None
        url = self._base.absolute(node.attributes.get("href"))
        return url if url != self._base.absolute(self._reply.url) else None

    def _has(self, selector: str | None) -> bool:
        return selector is not None and self._tree.css_first(selector) is not None

    def _warn(self, sentence: str) -> None:
        self._lines.append(("WARNING", sentence))


def _number_of(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
