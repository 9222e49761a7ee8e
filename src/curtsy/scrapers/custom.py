"""The user's own scrapers: how they are declared, run, and turned into stored records."""

import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, replace
from enum import Enum
from io import TextIOBase
from itertools import islice
from typing import Any, TypeVar, overload

import orjson

from curtsy.model.failure_kinds import Kind
from curtsy.model.link import Link, as_link
from curtsy.model.outcome import Failed, Record, Reply
from curtsy.scrapers.chosen_links import chosen_links
from curtsy.scrapers.json_values import plain
from curtsy.scrapers.page import LONGEST_LINE, Broken, Level, Page
from curtsy.scrapers.record_keys import KEY, distinct, is_listing, key_of, pack_listing
from curtsy.scrapers.tracebacks import attach_lines, trace_of

NAME = re.compile(r"[a-z][a-z0-9_]{0,59}")
BUILT_IN = frozenset({"article", "raw", "seo", "listing"})
"""Reserved names, including those of planned scrapers."""
MOST_RECORDS = 10_000
MOST_LINKS = 1_000
_MARK = "__curtsy_scraper__"

Fields = Mapping[str, Any]


class NotGiven(Enum):
    """The default of an option for which None has a meaning."""

    NOT_GIVEN = False

    def __bool__(self) -> bool:
        return False


NOT_GIVEN = NotGiven.NOT_GIVEN


@dataclass(frozen=True, slots=True)
class Found:
    """What a scraper found on a page: one record or several, and links."""

    record: Fields | None = None
    records: Sequence[Fields] | None = None
    links: Sequence[str | Link] | None = None
    """The only links that a crawl follows; a `Link` may name the scraper of its page and pass it
    params. None: as if not given; then a crawl follows `next`, or, if that is not given either, all
    links of the page."""
    next: str | NotGiven | None = NOT_GIVEN
    """The next page of a listing; without `links` the only link that is followed. None: this is the
    last page, so no link is followed."""
    empty: bool = False
    """The page has no records, and that is not an error."""


Returned = Found | Fields | Sequence[Fields] | Iterator[Fields] | None
Function = Callable[[Page], Any]
F = TypeVar("F", bound=Function)


@dataclass(frozen=True, slots=True)
class OwnScraper:
    """A declared scraper."""

    name: str
    function: Function
    key: tuple[str, ...] | None
    """The fields that identify a record; None: its url, or all fields."""

    @property
    def doc(self) -> str:
        """The first line of the docstring."""
        return (inspect.getdoc(self.function) or "").partition("\n")[0][:200]


@overload
def scraper(function: F) -> F: ...
@overload
def scraper(*, name: str | None = None, key: Sequence[str] | None = None) -> Callable[[F], F]: ...
def scraper(
    function: F | None = None, *, name: str | None = None, key: Sequence[str] | None = None
) -> F | Callable[[F], F]:
    """Declares a function as a scraper, under its own name or another."""

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
    """Returns the scraper that a function was declared as; None: not declared."""
    own = getattr(thing, _MARK, None) if callable(thing) else None
    return own if isinstance(own, OwnScraper) else None


def _problem_of(own: OwnScraper) -> str | None:
    if not NAME.fullmatch(own.name):
        return "has an invalid name: use up to 60 of a-z, 0-9 and _, with a letter first"
    if own.name in BUILT_IN:
        return "has the name of a built-in scraper"
    if inspect.iscoroutinefunction(own.function) or inspect.isasyncgenfunction(own.function):
        return "is async: write a plain function, the page is fetched already"
    if own.key is not None and not (own.key and all(isinstance(f, str) for f in own.key)):
        return "has a key that is not a list of field names"
    return None


def run(own: OwnScraper, reply: Reply, params: Mapping[str, Any]) -> Record | Failed:
    """Runs the scraper on a page. Its prints go to the job's log; its exceptions are raised."""
    page = Page(reply, params)
    try:
        with _capture_output(page):
            found = scrape(own, page)
        return to_record(found, own.key, page)
    except Broken as broken:
        sentence = str(broken).strip() or "The scraper reports that the page is broken."
        trace = "\n".join(filter(None, (trace_of(broken), _log_text(page))))
        return Failed(Kind.EXTRACT_FAILED, sentence[:2_000], reply.status, traceback=trace or None,
                      lines=tuple(page.lines))  # fmt: skip
    except BaseException as error:
        if (text := _log_text(page)) is not None:
            error.add_note(text)
            attach_lines(error, page.lines)
        raise


def scrape(own: OwnScraper, page: Page) -> Found:
    """Calls the scraper and returns its result in one form that can be stored. Raises `Broken`."""
    found = _as_found(own.function(page))
    if found.record is not None and found.records is not None:
        raise Broken("The scraper returned both a record and records.")
    if found.record is not None:
        return Found(_fields(found.record, ""), None, *_links_and_next(found, page), found.empty)
    records = [_fields(one, f"records[{n}]") for n, one in enumerate(found.records or ())]
    return Found(None, records, *_links_and_next(found, page), found.empty)


def to_record(found: Found, key: tuple[str, ...] | None, page: Page) -> Record:
    """Returns the stored form: a single record as it is, several in the form of a listing."""
    if found.record is not None:
        content = orjson.dumps(_single_record(found.record, key), option=orjson.OPT_SORT_KEYS)
    else:
        keyed = [(key_of(fields, _key(fields, key)), fields) for fields in found.records or ()]
        records = distinct(keyed, lambda sentence: page.log(sentence, "WARNING"))
        following = found.next if isinstance(found.next, str) else None
        content = pack_listing(records, following=following, is_empty=found.empty)
    links = None if found.links is None else tuple(map(as_link, found.links))
    return Record(content, "application/json", "utf-8", links=links, lines=tuple(page.lines))


def _single_record(record: Fields, key: tuple[str, ...] | None) -> Fields:
    """Adds the declared key; without a declared key the page identifies the record."""
    if is_listing(record):
        raise Broken("The record has the form of a listing: return Found(records=…) instead.")
    return record if key is None else {**record, KEY: key_of(record, key)}


def _as_found(returned: Any) -> Found:
    if isinstance(returned, Found):
        found = replace(
            returned, records=_as_list(returned.records), links=_as_list(returned.links)
        )
    elif isinstance(returned, Mapping):
        found = Found(record=returned or None)
    elif isinstance(returned, list | tuple | Iterator):
        found = Found(records=_as_list(returned))
    elif returned is None:
        found = Found()
    else:
        what = type(returned).__name__
        raise Broken(f"The scraper returned {what}: it must be a dict, a list of dicts or Found.")
    if not (found.record or found.records or found.links or found.next or found.empty):
        raise Broken(
            "The scraper found nothing usable on the page. "
            "(If a page may be empty, return Found(empty=True).)"
        )
    if found.records is not None and len(found.records) > MOST_RECORDS:
        raise Broken(f"The scraper found more than {MOST_RECORDS} records on one page.")
    return found


def _as_list(things: Any) -> Any:
    """Turns an iterator into a list, up to the limit of records."""
    return list(islice(things, MOST_RECORDS + 1)) if isinstance(things, Iterator) else things


def _fields(record: Any, where: str) -> dict[str, Any]:
    if not isinstance(record, Mapping):
        raise Broken(f"{where or 'The record'} is of type {type(record).__name__}, not a dict.")
    fields: dict[str, Any] = plain(record, where)
    return fields


def _links_and_next(found: Found, page: Page) -> tuple[list[Link] | None, str | None]:
    """Returns `links` and `next` with absolute URLs, without those that cannot be fetched. Links
    are None if the scraper chose none, and empty if it chose to follow none."""
    following = _next(found, page)
    if found.links is None:
        only = [Link(following)] if following is not None else []
        return None if found.next is NOT_GIVEN else only, following
    whole = chosen_links(found.links, page)
    if following is not None and all(link.url != following for link in whole):
        whole.append(Link(following))
    if len(whole) > MOST_LINKS:
        page.log(f"Only the first {MOST_LINKS} of {len(whole)} links were kept.", "WARNING")
    return whole[:MOST_LINKS], following


def _next(found: Found, page: Page) -> str | None:
    """Returns the next page; None: there is none, or the scraper did not say."""
    if not found.next:
        return None
    if not isinstance(found.next, str):
        raise Broken(f"next is of type {type(found.next).__name__}: it must be a URL or None.")
    following = page.absolute(found.next)
    if following is None:
        page.log(f"next leads nowhere and is not followed: {found.next[:200]!r}.", "WARNING")
    return following


def _key(fields: Fields, key: tuple[str, ...] | None) -> Sequence[str]:
    if key is not None:
        return key
    return ("url",) if "url" in fields else tuple(fields)


def _log_text(page: Page) -> str | None:
    """Returns the lines that the scraper logged before it failed."""
    if not page.lines:
        return None
    return "\n".join(["Before that it logged:", *(f"  {lvl} {text}" for lvl, text in page.lines)])


@contextmanager
def _capture_output(page: Page) -> Iterator[None]:
    """Sends prints to the page's log."""
    out, err = _LogWriter(page, "INFO"), _LogWriter(page, "WARNING")
    try:
        with redirect_stdout(out), redirect_stderr(err):
            yield
    finally:
        out.end()
        err.end()


class _LogWriter(TextIOBase):
    """Writes printed text to the page's log, line by line."""

    def __init__(self, page: Page, level: Level) -> None:
        self._page, self._level = page, level
        self._partial_line = ""

    def write(self, text: str) -> int:
        *whole, rest = f"{self._partial_line}{text[: 100 * LONGEST_LINE]}".split("\n")
        for line in whole:
            if line.strip():
                self._page.log(line, self._level)
        self._partial_line = rest[:LONGEST_LINE]
        return len(text)

    def end(self) -> None:
        if self._partial_line.strip():
            self._page.log(self._partial_line, self._level)
        self._partial_line = ""
