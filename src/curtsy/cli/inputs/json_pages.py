"""Pages in JSON: lines that are objects with a `url`, or a document with a list of them."""

import json
from collections.abc import Iterator
from itertools import chain
from typing import Any

from curtsy.cli.inputs.given_page import GivenPage
from curtsy.errors import BadRequest

MOST_DOCUMENT_CHARACTERS = 2**26
LONGEST_LABEL = 300
LABELS = ("source", "category")
PRIORITIES = range(1, 11)


def json_pages(lines: Iterator[str], name: str) -> Iterator[GivenPage]:
    """The first line decides: an object with a `url` is the first of many."""
    first = ""
    passed = 0
    for first in lines:
        passed += 1
        if first.strip():
            break
    try:
        found = json.loads(first)
    except (ValueError, RecursionError):
        found = None
    if isinstance(found, dict) and "articles" not in found:
        yield from _of_lines(chain([first], lines), name, passed)
    else:
        yield from _of_document(chain([first], lines), name)


def _of_lines(lines: Iterator[str], name: str, first: int) -> Iterator[GivenPage]:
    for number, line in enumerate(lines, first):
        if not line.strip():
            continue
        at = f"{name} line {number}"
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            yield GivenPage(at, line, problem="is not JSON")
            continue
        yield _page(at, found)


def _of_document(lines: Iterator[str], name: str) -> Iterator[GivenPage]:
    """A list of URLs or objects, or an object with such a list as its `articles`."""
    whole, length = [], 0
    for line in lines:
        whole.append(line)
        length += len(line)
        if length > MOST_DOCUMENT_CHARACTERS:
            raise BadRequest([f"{name} is too large for one JSON document: write a line a page."])
    try:
        found = json.loads("\n".join(whole))
    except (ValueError, RecursionError):
        found = None
    listed = found.get("articles") if isinstance(found, dict) else found
    if not isinstance(listed, list):
        raise BadRequest(
            [f'{name} is not JSON with URLs: write a line for each, such as {{"url": "…"}}.']
        )
    for number, one in enumerate(listed, 1):
        at = f"{name} item {number}"
        yield GivenPage(at, one) if isinstance(one, str) else _page(at, one)


def _page(at: str, found: Any) -> GivenPage:
    """Takes the fields that an article has; results of `scrape --json` have others, too."""
    url = found.get("url") if isinstance(found, dict) else None
    if not isinstance(url, str):
        return GivenPage(at, json.dumps(found), problem='is no object with a "url"')
    labels: dict[str, Any] = {}
    for name in LABELS:
        label = found.get(name)
        if label is not None and not (isinstance(label, str) and len(label) <= LONGEST_LABEL):
            return GivenPage(at, url, problem=f"has a {name} that is no text of at most "
                                              f"{LONGEST_LABEL} characters")  # fmt: skip
        labels |= {name: label} if label is not None else {}
    priority = found.get("priority")
    if priority is not None:
        if isinstance(priority, bool) or priority not in PRIORITIES:
            return GivenPage(at, url, problem="has a priority that is not from 1 to 10")
        labels["priority"] = priority
    return GivenPage(at, url, labels)
