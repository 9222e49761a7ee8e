"""The user's own scrapers: how they are declared, run, and turned into stored records."""

import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, replace
from enum import Enum
from io import TextIOBase
from typing import Any, TypeVar, overload

from curtsy.model.failure_kinds import Kind
from curtsy.model.link import Link, as_link
from curtsy.model.outcome import Failed, Record, Reply
from curtsy.model.record_models import (
    DataclassInstance,
    PydanticInstance,
    is_instance_of_model,
    is_validation_error,
)
from curtsy.scrapers.chosen_links import chosen_links
from curtsy.scrapers.page import LONGEST_LINE, Broken, Level, Page
from curtsy.scrapers.record_keys import KEY, distinct, is_listing, key_of, listing_page, stored_page
from curtsy.scrapers.records.declared_fields import DeclaredFields, declared_fields
from curtsy.scrapers.records.reader import RecordReader, invalid
from curtsy.scrapers.tracebacks import attach_lines, trace_of

NAME = re.compile(r"[a-z][a-z0-9_]{0,59}")
BUILT_IN = frozenset({"article", "raw", "seo", "listing"})
"""Reserved names, including those of planned scrapers."""
MOST_RECORDS = 10_000
MOST_LINKS = 1_000
_MARK = "__curtsy_scraper__"

Fields = Mapping[str, Any]
AnyRecord = Fields | DataclassInstance | PydanticInstance
"""What counts as a record: a dict, or an instance of a dataclass or pydantic model."""


class NotGiven(Enum):
    """The default of an option for which None has a meaning."""

    NOT_GIVEN = False

    def __bool__(self) -> bool:
        return False


NOT_GIVEN = NotGiven.NOT_GIVEN


@dataclass(frozen=True, slots=True)
class Found:
    """What a scraper found on a page: one record or several, and links."""

    record: AnyRecord | None = None
    records: Sequence[AnyRecord] | Iterator[AnyRecord] | None = None
    links: Sequence[str | Link] | None = None
    """The only links that a crawl follows; a `Link` may name the scraper of its page and pass it
    params. None: as if not given; then a crawl follows `next`, or, if that is not given either, all
    links of the page."""
    next: str | NotGiven | None = NOT_GIVEN
    """The next page of a listing; without `links` the only link that is followed. None: this is the
    last page, so no link is followed."""
    empty: bool = False
    """The page has no records, and that is not an error."""


Returned = Found | AnyRecord | Sequence[AnyRecord] | Iterator[AnyRecord] | None
Function = Callable[[Page], Any]
F = TypeVar("F", bound=Function)


@dataclass(frozen=True, slots=True)
class OwnScraper:
    """A declared scraper."""

    name: str
    function: Function
    key: tuple[str, ...] | None
    """The fields that identify a record; None: its url, or all fields."""
    fields: DeclaredFields | None = None
    """None: each record has its own fields, in the order in which the scraper set them."""

    @property
    def doc(self) -> str:
        """The first line of the docstring."""
        return (inspect.getdoc(self.function) or "").partition("\n")[0][:200]


@overload
def scraper(function: F) -> F: ...
@overload
def scraper(
    *, name: str | None = None, key: Sequence[str] | None = None,
    fields: Sequence[str] | None = None, record: type | None = None,
) -> Callable[[F], F]: ...  # fmt: skip
def scraper(
    function: F | None = None, *, name: str | None = None, key: Sequence[str] | None = None,
    fields: Sequence[str] | None = None, record: type | None = None,
) -> F | Callable[[F], F]:  # fmt: skip
    """Declares a function as a scraper, under its own name or another. `fields` declares the fields
    of its records and their order, or `record` a dataclass or pydantic model that has them."""

    def declare(function: F) -> F:
        own = OwnScraper(
            name or function.__name__, function, tuple(key) if key is not None else None
        )
        problem = _problem_of(own)
        try:
            own = replace(own, fields=declared_fields(fields, record))
        except ValueError as error:
            problem = problem or str(error)
        if (problem := problem or _key_problem(own)) is not None:
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


def _key_problem(own: OwnScraper) -> str | None:
    names = own.fields.names if own.fields is not None else own.key or ()
    absent = next((name for name in own.key or () if name not in names), None)
    return f"has {absent!r:.100} in its key, which is none of its fields" if absent else None


def run(own: OwnScraper, reply: Reply, params: Mapping[str, Any]) -> Record | Failed:
    """Runs the scraper on a page. Its prints go to the job's log; its exceptions are raised."""
    page = Page(reply, params)
    try:
        with _capture_output(page):
            found = scrape(own, page)
        return to_record(found, own, page)
    except Broken as broken:
        sentence = str(broken).strip() or "The scraper reports that the page is broken."
        cause = trace_of(broken.__cause__) if broken.__cause__ is not None else None
        trace = "\n".join(filter(None, (trace_of(broken) or cause, _log_text(page))))
        return Failed(Kind.EXTRACT_FAILED, sentence[:2_000], reply.status, traceback=trace or None,
                      lines=tuple(page.lines))  # fmt: skip
    except BaseException as error:
        if (text := _log_text(page)) is not None:
            error.add_note(text)
            attach_lines(error, page.lines)
        raise


def scrape(own: OwnScraper, page: Page) -> Found:
    """Calls the scraper and returns its result in one form that can be stored: records are dicts of
    JSON values. Raises `Broken`."""
    with _model_errors("A record"):
        found = _as_found(own.function(page))
    if found.record is not None and found.records is not None:
        raise Broken("The scraper returned both a record and records.")
    reader = RecordReader(own.fields, page)
    if found.record is not None:
        record = reader.read_one(found.record)
        return Found(record, None, *_links_and_next(found, page), found.empty)
    records = reader.read_all(found.records or ())
    return Found(None, records, *_links_and_next(found, page), found.empty)


def to_record(found: Found, own: OwnScraper, page: Page) -> Record:
    """Returns the stored form of what `scrape` returned: a single record as it is, several in the
    form of a listing."""
    stored: Fields
    if isinstance(found.record, Mapping):
        stored = _single_record(found.record, own.key)
    else:
        fields: list[Any] = list(found.records or ())
        keyed = [(key_of(one, _key(one, own.key)), one) for one in fields]
        records = distinct(keyed, lambda sentence: page.log(sentence, "WARNING"))
        following = found.next if isinstance(found.next, str) else None
        stored = listing_page(records, following=following, is_empty=found.empty)
    links = None if found.links is None else tuple(map(as_link, found.links))
    names = own.fields.names if own.fields is not None else ()
    return stored_page(stored, declared=names, links=links, lines=page.lines)


def _single_record(record: Fields, key: tuple[str, ...] | None) -> Fields:
    """Adds the declared key; without a declared key the page identifies the record."""
    if is_listing(record):
        raise Broken("The record has the form of a listing: return Found(records=…) instead.")
    return record if key is None else {**record, KEY: key_of(record, key)}


def _as_found(returned: Any) -> Found:
    if isinstance(returned, Found):
        found = replace(
            returned, records=_as_list(returned.records, "records"),
            links=_as_list(returned.links, "links"),
        )  # fmt: skip
    elif isinstance(returned, Mapping) or is_instance_of_model(returned):
        found = Found(record=returned)
    elif isinstance(returned, list | tuple | Iterator):
        found = Found(records=_as_list(returned, "records"))
    elif returned is None:
        found = Found()
    else:
        what = type(returned).__name__
        raise Broken(f"The scraper returned {what}: it must be a dict, a dataclass, a pydantic "
                     "model, a list of these, or Found.")  # fmt: skip
    if isinstance(found.record, Mapping) and not found.record:
        found = replace(found, record=None)
    if not (found.record is not None or found.records or found.links or found.next or found.empty):
        raise Broken(
            "The scraper found nothing usable on the page. "
            "(If a page may be empty, return Found(empty=True).)"
        )
    if found.records is not None and len(found.records) > MOST_RECORDS:  # type: ignore[arg-type]
        raise Broken(f"The scraper found more than {MOST_RECORDS} records on one page.")
    return found


def _as_list(things: Any, what: str) -> Any:
    """Turns an iterator into a list, up to the limit of records."""
    if not isinstance(things, Iterator):
        return things
    found: list[Any] = []
    for _ in range(MOST_RECORDS + 1):
        with _model_errors(f"{what}[{len(found)}]"):
            try:
                found.append(next(things))
            except StopIteration:
                break
    return found


@contextmanager
def _model_errors(where: str) -> Iterator[None]:
    """Turns an error of a pydantic model into a failure of the page that names the field."""
    try:
        yield
    except Exception as error:
        if not is_validation_error(error):
            raise
        raise invalid(error, where) from error


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
