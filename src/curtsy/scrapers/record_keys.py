"""How the records of a page are stored, and by what each is known again."""

import hashlib
from base64 import urlsafe_b64encode
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import orjson

NOTHING: tuple[Any, ...] = (None, [])
"""What a field has that was not found."""
KEY = "_key"
"""Stored with a record that is alone on its page, where its scraper says by what it is known."""
_LISTING = {"records", "next", "empty"}
_RECORD = {"key", "fields"}


def key_of(fields: Mapping[str, Any], names: Sequence[str]) -> str:
    """By what a record is known again. One without any of these fields is known by all it has."""
    by = {name: fields[name] for name in names if fields.get(name) not in NOTHING}
    content = orjson.dumps(by or fields, option=orjson.OPT_SORT_KEYS)
    digest = hashlib.blake2b(content, digest_size=16).digest()
    return urlsafe_b64encode(digest)[:22].decode()


def distinct(
    keyed: Sequence[tuple[str, Mapping[str, Any]]], warn: Callable[[str], None]
) -> list[dict[str, Any]]:
    """Each key once: the first record that has it."""
    first: dict[str, Mapping[str, Any]] = {}
    for key, fields in keyed:
        first.setdefault(key, fields)
    if more := len(keyed) - len(first):
        what = f"{more} of {len(keyed)} records have the key of an earlier one on the page"
        warn(f"{what} and were left out.")
    return [{"key": key, "fields": fields} for key, fields in first.items()]


def packed(found: Sequence[Mapping[str, Any]], *, following: str | None, is_empty: bool) -> bytes:
    """As listings are stored."""
    whole = {"records": found, "next": following, "empty": is_empty}
    return orjson.dumps(whole, option=orjson.OPT_SORT_KEYS)


def is_listing(page: Any) -> bool:
    """Whether this is what `packed` makes. One record alone may have any fields, also these names,
    so the whole form is asked for; a scraper that gives back just this form is told so."""
    return (
        isinstance(page, Mapping)
        and page.keys() == _LISTING
        and isinstance(page["records"], list)
        and all(
            isinstance(one, Mapping)
            and one.keys() == _RECORD
            and isinstance(one["key"], str)
            and isinstance(one["fields"], Mapping)
            for one in page["records"]
        )
    )
