"""Scrapers: functions from a fetched page to a record. They cannot write state.

Authors of scrapers need `scraper`, `Page`, `Found` and `Broken`; `try_on` runs a scraper on a saved
page. `as_model` makes an instance of a dataclass or pydantic model of a record in a result.

Scrapers that parse are only named here. They are loaded and run in the child processes of
`extract`, never in a worker, where a slow page would delay all others.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from typing import Any

from curtsy.errors import BadRequest
from curtsy.model.link import Link
from curtsy.model.outcome import Failed, Record, Reply
from curtsy.model.record_models import BadRecord, as_model
from curtsy.scrapers.custom import Found, scraper
from curtsy.scrapers.page import Broken, Page
from curtsy.scrapers.raw import raw
from curtsy.scrapers.saved_page import try_on

__all__ = [
    "INTERNAL", "LISTS", "NAMES", "PAGES", "PARSING", "SIMPLE", "SUMMARY", "WITH_PARAMS",
    "BadRecord", "Broken", "Found", "Link", "Page", "Scraper", "arguments_for", "as_model",
    "check_params", "load", "load_links", "scraper", "try_on",
]  # fmt: skip

Scraper = Callable[[Reply], Record | Failed]

SIMPLE: dict[str, Scraper] = {"raw": raw}
"""Scrapers that run in the worker, because they read only the headers."""
PARSING: dict[str, str] = {
    "article": "curtsy.scrapers.article",
    "feed": "curtsy.scrapers.feeds.feed",
    "listing": "curtsy.scrapers.listing",
    "sitemap": "curtsy.scrapers.feeds.sitemap",
}
"""The module of each scraper that parses; its function has the scraper's name."""
INTERNAL: dict[str, str] = {"login_page": "curtsy.scrapers.login_page"}
"""Like `PARSING`, for pages that curtsy itself reads: no job names them."""
LISTS = frozenset({"feed", "sitemap"})
"""Scrapers whose records are pages that a crawl may start from."""
SUMMARY = {"summary": True}
"""Parameters of these, for a document that counts the entries instead of listing them."""
WITH_PARAMS = frozenset({"listing", *LISTS, *INTERNAL})
"""Scrapers that take parameters besides the page."""
PAGES = frozenset({"article", "raw"})
"""Scrapers whose result is the page itself. The result of all others, also of the user's own, is
records."""
NAMES = frozenset({*SIMPLE, *PARSING})
"""The built-in scrapers; `OwnScrapers` names the user's own."""


def load_links() -> Callable[[Reply], tuple[str, ...]]:
    """Loads the link extractor, which parses too; only for the child processes."""
    found: Callable[[Reply], tuple[str, ...]] = import_module("curtsy.scrapers.links").links
    return found


def load(name: str, params: Mapping[str, Any] | None = None) -> Scraper:
    """Loads a scraper; only for the child processes."""
    if (simple := SIMPLE.get(name)) is not None:
        return simple
    function = getattr(import_module((PARSING | INTERNAL)[name]), name)
    found: Scraper = partial(function, params=params or {}) if name in WITH_PARAMS else function
    return found


def arguments_for(
    scraper: str, *, own: str, arguments: Mapping[str, Any], more: Mapping[str, Any]
) -> Mapping[str, Any]:
    """The parameters of a page of a crawl. The crawl's arguments are for its `own` scraper and for
    the user's others, but not for other built-in ones; `more` comes with the rule or link."""
    return {**arguments, **more} if scraper == own or scraper not in NAMES else more


def check_params(name: str, params: Mapping[str, Any]) -> None:
    """Raises `BadRequest` when the scraper certainly cannot work with these parameters."""
    if name == "listing":
        if unknown := sorted(params.keys() - {"recipe"}):
            raise BadRequest([f"The scraper 'listing' takes a recipe, but not {_listed(unknown)}."])
        import_module("curtsy.scrapers.recipe").parse_recipe(params.get("recipe") or {})
    elif params and name in NAMES - WITH_PARAMS:
        sentence = f"The scraper {name!r} takes no parameters: not {_listed(sorted(params))}."
        raise BadRequest([sentence])
    elif name in LISTS and (unknown := sorted(params.keys() - SUMMARY)):
        raise BadRequest([f"The scraper {name!r} takes summary, but not {_listed(unknown)}."])


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name[:100]) for name in names[:10])
    return shown if len(names) <= 10 else f"{shown} and {len(names) - 10} more"
