"""Scrapers of your own: how one is declared, and what becomes of what it gives back."""

import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, replace
from io import TextIOBase
from itertools import islice
from typing import Any, TypeVar, overload

import orjson

from curtsy.model.failure_kinds import Kind
from curtsy.model.outcome import Failed, Record, Reply
from curtsy.scrapers.json_values import plain
from curtsy.scrapers.page import LONGEST_LINE, Broken, Level, Page
from curtsy.scrapers.record_keys import KEY, distinct, is_listing, key_of, packed
from curtsy.scrapers.tracebacks import keep_lines, trace_of

NAME = re.compile(r"[a-z][a-z0-9_]{0,59}")
BUILT_IN = frozenset({"article", "raw", "seo", "listing"})
"""Names that are taken, also those of scrapers that are yet to come."""
MOST_RECORDS = 10_000
MOST_LINKS = 1_000
_MARK = "__curtsy_scraper__"

Fields = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Found:
    """What a scraper found on a page: one record or several, and where it leads."""

    record: Fields | None = None
    records: Sequence[Fields] | None = None
    links: Sequence[str] | None = None
    """The only ones that a crawl follows; None: all that are on the page."""
    next: str | None = None
    """The next page of a listing; without `links` the only one that is followed."""
    empty: bool = False
    """Nothing was found, and that is how it is."""


Returned = Found | Fields | Sequence[Fields] | Iterator[Fields] | None
Function = Callable[[Page], Any]
F = TypeVar("F", bound=Function)


@dataclass(frozen=True, slots=True)
class OwnScraper:
    """A scraper as it was declared."""

    name: str
    function: Function
    key: tuple[str, ...] | None
    """The fields by which a record is known again; None: its url, or all."""

    @property
    def doc(self) -> str:
        """Its first line."""
        return (inspect.getdoc(self.function) or "").partition("\n")[0][:200]


@overload
def scraper(function: F) -> F: ...
@overload
def scraper(*, name: str | None = None, key: Sequence[str] | None = None) -> Callable[[F], F]: ...
def scraper(
    function: F | None = None, *, name: str | None = None, key: Sequence[str] | None = None
) -> F | Callable[[F], F]:
    """Declare a function as a scraper, under its own name or another."""

    def declare(function: F) -> F:
        own = OwnScraper(
            name or function.__name__, function, tuple(key) if key is not None else None
        )
        if (problem := _problem_of(own)) is not None:
            raise ValueError(f"The scraper {own.name!r:.100} {problem}.")
        setattr(function, _MARK, own)
        return function

    return declare if function is None else declare(function)


def declared(thing: object) -> OwnScraper | None:
    """As what a function was declared, if it was."""
    own = getattr(thing, _MARK, None) if callable(thing) else None
    return own if isinstance(own, OwnScraper) else None


def _problem_of(own: OwnScraper) -> str | None:
    if not NAME.fullmatch(own.name):
        return "has a name that cannot be: up to 60 of a-z, 0-9 and _, with a letter first"
    if own.name in BUILT_IN:
        return "has the name of one that is built in"
    if inspect.iscoroutinefunction(own.function) or inspect.isasyncgenfunction(own.function):
        return "is async: write a plain function, the page is fetched already"
    if own.key is not None and not (own.key and all(isinstance(f, str) for f in own.key)):
        return "has a key that is not a list of names of fields"
    return None


def run(own: OwnScraper, reply: Reply, params: Mapping[str, Any]) -> Record | Failed:
    """The scraper on a page. What it prints goes to the log; what it raises is for the caller."""
    page = Page(reply, params)
    try:
        with _listening(page):
            found = found_by(own, page)
        return record_of(found, own.key, page)
    except Broken as broken:
        sentence = str(broken).strip() or "The scraper says that the page is broken."
        trace = "\n".join(filter(None, (trace_of(broken), _said(page))))
        return Failed(Kind.EXTRACT_FAILED, sentence[:2_000], reply.status, traceback=trace or None,
                      lines=tuple(page.lines))  # fmt: skip
    except BaseException as error:
        if (said := _said(page)) is not None:
            error.add_note(said)
            keep_lines(error, page.lines)
        raise


def found_by(own: OwnScraper, page: Page) -> Found:
    """What it gave back, in one form and fit to be stored. Raises `Broken` where it is not."""
    found = _found(own.function(page))
    if found.record is not None and found.records is not None:
        raise Broken("The scraper gave back both a record and records.")
    if found.record is not None:
        return Found(_fields(found.record, ""), None, *_leads(found, page), found.empty)
    records = [_fields(one, f"records[{n}]") for n, one in enumerate(found.records or ())]
    return Found(None, records, *_leads(found, page), found.empty)


def record_of(found: Found, key: tuple[str, ...] | None, page: Page) -> Record:
    """As it is stored: one record alone as it is, several as a listing's."""
    if found.record is not None:
        content = orjson.dumps(_alone(found.record, key), option=orjson.OPT_SORT_KEYS)
    else:
        keyed = [(key_of(fields, _key(fields, key)), fields) for fields in found.records or ()]
        records = distinct(keyed, lambda sentence: page.log(sentence, "WARNING"))
        content = packed(records, following=found.next, is_empty=found.empty)
    links = None if found.links is None else tuple(found.links)
    return Record(content, "application/json", "utf-8", links=links, lines=tuple(page.lines))


def _alone(record: Fields, key: tuple[str, ...] | None) -> Fields:
    """With the key that was declared; without one it is known by its page."""
    if is_listing(record):
        raise Broken("The record has the form of a listing's: give back Found(records=…) instead.")
    return record if key is None else {**record, KEY: key_of(record, key)}


def _found(returned: Any) -> Found:
    if isinstance(returned, Found):
        found = replace(returned, records=_listed(returned.records), links=_listed(returned.links))
    elif isinstance(returned, Mapping):
        found = Found(record=returned or None)
    elif isinstance(returned, list | tuple | Iterator):
        found = Found(records=_listed(returned))
    elif returned is None:
        found = Found()
    else:
        what = type(returned).__name__
        raise Broken(f"The scraper gave back {what}: it must be a dict, a list of dicts or Found.")
    if not (found.record or found.records or found.links or found.next or found.empty):
        raise Broken(
            "The scraper found nothing usable on the page. "
            "(One that may be empty says so: Found(empty=True).)"
        )
    if found.records is not None and len(found.records) > MOST_RECORDS:
        raise Broken(f"The scraper found more than {MOST_RECORDS} records on one page.")
    return found


def _listed(things: Any) -> Any:
    """What comes one by one, as a list."""
    return list(islice(things, MOST_RECORDS + 1)) if isinstance(things, Iterator) else things


def _fields(record: Any, where: str) -> dict[str, Any]:
    if not isinstance(record, Mapping):
        raise Broken(f"{where or 'The record'} is of type {type(record).__name__}, not a dict.")
    fields: dict[str, Any] = plain(record, where)
    return fields


def _leads(found: Found, page: Page) -> tuple[list[str] | None, str | None]:
    """Links and next, whole; those that lead nowhere are left out."""
    following = page.absolute(found.next)
    if found.links is None:
        return [following] if following is not None else None, following
    whole = [page.absolute(link) for link in found.links if isinstance(link, str)]
    links = list(dict.fromkeys(link for link in [*whole, following] if link is not None))
    if len(links) > MOST_LINKS:
        page.log(f"Of {len(links)} links the first {MOST_LINKS} were kept.", "WARNING")
    if nowhere := len(found.links) - sum(link is not None for link in whole):
        page.log(f"{nowhere} of {len(found.links)} links lead nowhere and were left out.")
    return links[:MOST_LINKS], following


def _key(fields: Fields, key: tuple[str, ...] | None) -> Sequence[str]:
    if key is not None:
        return key
    return ("url",) if "url" in fields else tuple(fields)


def _said(page: Page) -> str | None:
    """What the scraper said before it failed."""
    if not page.lines:
        return None
    return "\n".join(["Before that it said:", *(f"  {lvl} {text}" for lvl, text in page.lines)])


@contextmanager
def _listening(page: Page) -> Iterator[None]:
    """What is printed meanwhile is said to the page's log."""
    out, err = _Printed(page, "INFO"), _Printed(page, "WARNING")
    try:
        with redirect_stdout(out), redirect_stderr(err):
            yield
    finally:
        out.end()
        err.end()


class _Printed(TextIOBase):
    """Whole lines of what is printed, for the log."""

    def __init__(self, page: Page, level: Level) -> None:
        self._page, self._level = page, level
        self._begun = ""

    def write(self, text: str) -> int:
        *whole, rest = f"{self._begun}{text[: 100 * LONGEST_LINE]}".split("\n")
        for line in whole:
            if line.strip():
                self._page.log(line, self._level)
        self._begun = rest[:LONGEST_LINE]
        return len(text)

    def end(self) -> None:
        if self._begun.strip():
            self._page.log(self._begun, self._level)
        self._begun = ""
