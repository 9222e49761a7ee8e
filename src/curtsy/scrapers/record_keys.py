"""The stored form of the records of a page, and the keys that identify records.

Records are stored with their fields in the declared order. What decides whether something changed
is computed of sorted fields: another order alone is no change.
"""

import hashlib
import re
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import orjson

from curtsy.model.content_digest import content_digest
from curtsy.model.link import Link
from curtsy.model.outcome import Record

NOTHING: tuple[Any, ...] = (None, [])
"""The values of a field that was not found."""
KEY = "_key"
"""The field that stores the key of a single record, when its scraper declares a key."""
JSON, UTF_8 = "application/json", "utf-8"
_LISTING = {"records", "next", "empty"}
_LISTS = "more"
"""Only in the stored form of feeds and sitemaps: others that they name."""
_RECORD = {"key", "fields"}
_KEY_FORM = re.compile(r"[\w-]{22}")


def key_of(fields: Mapping[str, Any], names: Sequence[str]) -> str:
    """Returns the key that identifies a record: of these fields, or of all when it has none."""
    by = {name: fields[name] for name in names if fields.get(name) not in NOTHING}
    digest = hashlib.blake2b(sorted_json(by or fields), digest_size=16).digest()
    return urlsafe_b64encode(digest)[:22].decode()


def distinct(
    keyed: Sequence[tuple[str, Mapping[str, Any]]], warn: Callable[[str], None]
) -> list[dict[str, Any]]:
    """Returns the first record of each key."""
    first: dict[str, Mapping[str, Any]] = {}
    for key, fields in keyed:
        first.setdefault(key, fields)
    if more := len(keyed) - len(first):
        what = f"{more} of {len(keyed)} records have the key of an earlier one on the page"
        warn(f"{what} and were left out.")
    return [{"key": key, "fields": fields} for key, fields in first.items()]


def listing_page(
    found: Sequence[Mapping[str, Any]], *, following: str | None, is_empty: bool
) -> dict[str, Any]:
    """Returns the stored form of a listing."""
    return {"records": found, "next": following, "empty": is_empty}


def pack_listing(
    found: Sequence[Mapping[str, Any]], *, following: str | None, is_empty: bool,
    more: Sequence[Mapping[str, Any]] = (),
) -> bytes:  # fmt: skip
    """Returns the stored form of a listing. `more` are the feeds and sitemaps that it names, each
    with `url`, `scraper`, `updated_at` and maybe `title`."""
    whole = listing_page(found, following=following, is_empty=is_empty)
    return orjson.dumps(whole | {_LISTS: more} if more else whole)


def stored_page(
    page: Mapping[str, Any], *, declared: Iterable[str] = (),
    links: tuple[Link, ...] | None = None, lines: Iterable[tuple[str, str]] = (),
) -> Record:  # fmt: skip
    """Returns a page of records as a scraper's result. A change of the `declared` order counts as
    a change of the page, so that its stored copy follows; another order of the fields does not."""
    compared = b"\0".join((sorted_json(page), *(name.encode() for name in declared)))
    digest = content_digest(compared, JSON, UTF_8)
    return Record(orjson.dumps(page), JSON, UTF_8, links=links, lines=tuple(lines), digest=digest)


def sorted_json(value: Any) -> bytes:
    """What is compared of records: the same, whatever the order of their fields."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def is_listing(page: Any) -> bool:
    """Whether this is the output of `pack_listing`. A single record may have fields with the same
    names, so the whole form is checked; a scraper that returns exactly this form is refused."""
    return (
        isinstance(page, Mapping)
        and page.keys() - {_LISTS} == _LISTING
        and isinstance(page["records"], list)
        and all(
            isinstance(one, Mapping)
            and one.keys() == _RECORD
            and isinstance(one["key"], str)
            and isinstance(one["fields"], Mapping)
            for one in page["records"]
        )
    )


def records_on(page: Mapping[str, Any], url: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Returns the records of a stored page as its scraper returned them, each with its key. The key
    of a page that is one record is the key that its scraper declared, or a hash of its URL."""
    if is_listing(page):
        yield from ((record["key"], record["fields"]) for record in page["records"])
        return
    key = page.get(KEY)
    if isinstance(key, str) and _KEY_FORM.fullmatch(key):
        yield key, {name: value for name, value in page.items() if name != KEY}
    else:
        yield hash_of(url), page


def with_url(fields: Mapping[str, Any], url: str) -> Mapping[str, Any]:
    """The fields of a page that is one record, such as an article, have the URL of the page."""
    return fields if "url" in fields else {"url": url, **fields}


def hash_of(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
