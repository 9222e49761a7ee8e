"""The results of `curtsy.scrape`."""

from collections.abc import Iterable
from typing import Any, TypeVar, overload

from curtsy.client.results import Article, PageFailure, PageResult, records_in
from curtsy.model.record_models import as_model
from curtsy.model.urls import BadUrl, canonical

M = TypeVar("M")


class Results(list[PageResult]):
    """A result for each page, in the order of the URLs; of a page with records, each of them."""

    @property
    def articles(self) -> list[Article]:
        return [one for one in self if isinstance(one, Article)]

    @property
    def failures(self) -> list[PageFailure]:
        return [one for one in self if isinstance(one, PageFailure)]

    @overload
    def records(self) -> list[dict[str, Any]]: ...
    @overload
    def records(self, model: type[M]) -> list[M]: ...
    def records(self, model: type[M] | None = None) -> list[M] | list[dict[str, Any]]:
        """Returns all records, as dicts or as instances of a dataclass or pydantic model."""
        found = [record for one in self for record in records_in(one)]
        return found if model is None else [as_model(model, record) for record in found]

    def __repr__(self) -> str:
        return f"Results({len(self)} results, {len(self.failures)} of them failures)"


def in_order(found: Iterable[PageResult], urls: Iterable[str]) -> Results:
    """Sorts results by the place of their URL."""
    place: dict[str, int] = {}
    for number, url in enumerate(urls):
        place.setdefault(_key(url), number)
    return Results(sorted(found, key=lambda one: place.get(_key(one.url), len(place))))


def _key(url: str) -> str:
    try:
        return canonical(url).text
    except BadUrl:
        return url
