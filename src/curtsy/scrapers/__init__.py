"""Scrapers: functions from a fetched page to a record. They cannot write state.

One that parses is only named here: it is loaded and run in the child processes of `extract`, never
in a worker, whose memory and time belong to everybody.
"""

from collections.abc import Callable
from importlib import import_module

from curtsy.model.outcome import Failed, Record, Reply
from curtsy.scrapers.raw import raw

Scraper = Callable[[Reply], Record | Failed]

SIMPLE: dict[str, Scraper] = {"raw": raw}
"""Run in the worker: they look at no more than the headers."""
PARSING: dict[str, str] = {"article": "curtsy.scrapers.article"}
"""The module of each; the function has the scraper's name."""
NAMES = frozenset({*SIMPLE, *PARSING})


def load_links() -> Callable[[Reply], tuple[str, ...]]:
    """Likewise: looking for links is parsing."""
    found: Callable[[Reply], tuple[str, ...]] = import_module("curtsy.scrapers.links").links
    return found


def load(name: str) -> Scraper:
    """For the processes that may parse."""
    if (simple := SIMPLE.get(name)) is not None:
        return simple
    scraper: Scraper = getattr(import_module(PARSING[name]), name)
    return scraper
