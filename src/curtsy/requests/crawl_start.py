"""Where a crawl starts besides its start URLs: at what feeds and sitemaps list."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from curtsy.jobs import PageRequest
from curtsy.model.page_use import PageUse
from curtsy.model.scope import Reach, Scope, scope_around
from curtsy.model.urls import BadUrl, Url, canonical

MOST_STARTS = 1_000


def _as_list(given: Any) -> Any:
    return [given] if isinstance(given, str) else given


StartUrls = Annotated[
    list[str], BeforeValidator(_as_list), Field(default_factory=list, max_length=MOST_STARTS)
]


class Start(BaseModel):
    """Feeds and sitemaps: their entries are the start pages. They themselves are no results."""

    model_config = ConfigDict(extra="forbid", strict=True)

    feed: StartUrls
    """RSS, Atom or JSON feeds, or pages that link to theirs: one URL or several."""
    sitemap: StartUrls
    """Sitemaps, indexes of sitemaps, or a robots.txt that names them: one URL or several."""
    new_only: bool = True
    """Fetch only entries that earlier runs of this schedule (or, without a schedule, earlier crawls
    of yours) have not seen, or that say that they changed since."""
    scope: Reach | None = None
    """Where entries may lead, seen from the feed or sitemap: `host`, `domain` (default for
    sitemaps) or `any` (default for feeds)."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if not (self.feed or self.sitemap):
            raise ValueError("start needs a feed or a sitemap")
        if self.scope in ("page", "prefix"):
            raise ValueError("scope of start is host, domain or any")
        return self

    def pages(self, priority: int) -> Iterator[PageRequest]:
        """The requests for the feeds and sitemaps, which themselves are no results."""
        for scraper, urls in (("feed", self.feed), ("sitemap", self.sitemap)):
            for url in urls:
                yield PageRequest(url, priority, scraper=scraper, params={}, uses=PageUse.LISTS)

    def terms(self, include: Sequence[str], exclude: Sequence[str]) -> dict[str, Any]:
        """What the worker needs to choose entries, as JSON."""
        starts = list(_canonical([*self.feed, *self.sitemap]))
        reach = self.scope or ("any" if self.feed else "domain")
        return entry_terms(starts, reach, include=include, exclude=exclude, new_only=self.new_only)


def entry_terms(
    starts: Sequence[Url], reach: Reach, *, include: Sequence[str] = (),
    exclude: Sequence[str] = (), new_only: bool, fetched: bool = True,
) -> dict[str, Any]:  # fmt: skip
    """With `fetched` false, only the feeds and sitemaps are read, and not what they list."""
    places = [(url.text, url.host) for url in starts]
    scope = scope_around(places, reach, include=include, exclude=exclude)
    lists: Scope = scope_around(places, reach)
    return {"scope": scope.to_json(), "lists": lists.to_json(), "new_only": new_only,
            "fetched": fetched}  # fmt: skip


def _canonical(urls: Sequence[str]) -> Iterator[Url]:
    """The valid URLs; submitting reports the others."""
    for url in urls:
        try:
            yield canonical(url)
        except BadUrl:
            continue
