"""Scrapers: functions from a fetched page to a record. They cannot write state.

Who writes one needs `scraper`, `Page`, `Found` and `Broken`; `try_on` runs it on a saved page.

One that parses is only named here: it is loaded and run in the child processes of `extract`, never
in a worker, whose memory and time belong to everybody.
"""

from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from typing import Any

from curtsy.errors import BadRequest
from curtsy.model.outcome import Failed, Record, Reply
from curtsy.scrapers.custom import Found, scraper
from curtsy.scrapers.page import Broken, Page
from curtsy.scrapers.raw import raw
from curtsy.scrapers.trial import try_on

__all__ = [
    "NAMES", "PARSING", "SIMPLE", "TOLD", "Broken", "Found", "Page", "Scraper", "check_params",
    "load", "load_links", "scraper", "try_on",
]  # fmt: skip

Scraper = Callable[[Reply], Record | Failed]

SIMPLE: dict[str, Scraper] = {"raw": raw}
"""Run in the worker: they look at no more than the headers."""
PARSING: dict[str, str] = {
    "article": "curtsy.scrapers.article",
    "listing": "curtsy.scrapers.listing",
}
"""The module of each; the function has the scraper's name."""
TOLD = frozenset({"listing"})
"""Those that take parameters beside the page."""
NAMES = frozenset({*SIMPLE, *PARSING})
"""Of those that are built in; whoever knows scrapers of your own was told of them."""


def load_links() -> Callable[[Reply], tuple[str, ...]]:
    """Likewise: looking for links is parsing."""
    found: Callable[[Reply], tuple[str, ...]] = import_module("curtsy.scrapers.links").links
    return found


def load(name: str, params: Mapping[str, Any] | None = None) -> Scraper:
    """For the processes that may parse."""
    if (simple := SIMPLE.get(name)) is not None:
        return simple
    function = getattr(import_module(PARSING[name]), name)
    found: Scraper = partial(function, params=params or {}) if name in TOLD else function
    return found


def check_params(name: str, params: Mapping[str, Any]) -> None:
    """Raises `BadRequest` where it is certain beforehand that the scraper cannot work with them."""
    if name == "listing":
        import_module("curtsy.scrapers.recipe").recipe_from(params.get("recipe") or {})
    elif params and name in NAMES - TOLD:
        raise BadRequest([f"The scraper {name!r} takes no parameters."])
