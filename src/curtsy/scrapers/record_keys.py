"""The stored form of the records of a page, and the keys that identify records."""

import hashlib
import re
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import orjson

NOTHING: tuple[Any, ...] = (None, [])
"""The values of a field that was not found."""
KEY = "_key"
"""The field that stores the key of a single record, when its scraper declares a key."""
_LISTING = {"records", "next", "empty"}
_LISTS = "more"
"""Only in the stored form of feeds and sitemaps: others that they name."""
_RECORD = {"key", "fields"}
_KEY_FORM = re.compile(r"[\w-]{22}")


def key_of(fields: Mapping[str, Any], names: Sequence[str]) -> str:
    """Returns the key that identifies a record: of these fields, or of all when it has none."""
    by = {name: fields[name] for name in names if fields.get(name) not in NOTHING}
    content = orjson.dumps(by or fields, option=orjson.OPT_SORT_KEYS)
    digest = hashlib.blake2b(content, digest_size=16).digest()
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


def pack_listing(
    found: Sequence[Mapping[str, Any]], *, following: str | None, is_empty: bool,
    more: Sequence[Mapping[str, Any]] = (),
) -> bytes:  # fmt: skip
    """Returns the stored form of a listing. `more` are the feeds and sitemaps that it names, each
    with `url`, `scraper`, `updated_at` and maybe `title`."""
    whole: dict[str, Any] = {"records": found, "next": following, "empty": is_empty}
    whole |= {_LISTS: more} if more else {}
    return orjson.dumps(whole, option=orjson.OPT_SORT_KEYS)


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
    """Returns the records of a stored page, each with its key. The key of a page that is one
    record, such as an article, is the key that its scraper declared, or a hash of its URL."""
    if is_listing(page):
        yield from ((record["key"], record["fields"]) for record in page["records"])
        return
    key = page.get(KEY)
    fields = {"url": url} | {name: value for name, value in page.items() if name != KEY}
    yield key if isinstance(key, str) and _KEY_FORM.fullmatch(key) else hash_of(url), fields


def hash_of(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
