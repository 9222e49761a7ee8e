"""The pages that a lead leads to: the links of a crawled page, or the entries of a feed or sitemap.

Slow for many links: these functions run in threads.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple, Self

import orjson
import zstandard

from curtsy.clock import instant_of
from curtsy.fetch.guard import Network, refusal_by_name
from curtsy.frontier.admit import Wanted
from curtsy.frontier.crawls.leads import Lead
from curtsy.frontier.crawls.listed_pages import Listed
from curtsy.frontier.crawls.lists import ListDocument, WaitingList
from curtsy.frontier.crawls.subscriptions import Entry, hash_of
from curtsy.model.crawl_rules import CrawlRule, CrawlRules
from curtsy.model.link import Link, loaded
from curtsy.model.options import identity_of, options_for
from curtsy.model.origins import origin_of, reach_of
from curtsy.model.page_use import ONLY_LISTS, PageUse, is_followed
from curtsy.model.scope import Scope
from curtsy.model.urls import BadUrl, Url, canonical, fingerprint
from curtsy.scrapers import LISTS, SUMMARY, arguments_for
from curtsy.scrapers.record_keys import is_listing

AT_ONCE = 5_000
"""Entries of a document that one transaction admits."""
MOST_LEVELS = 3
"""Sitemaps may list sitemaps that list sitemaps; what lies deeper is not fetched."""
MOST_PARTS = 50
"""Feeds may go on in older parts; what comes after so many is not fetched."""
LARGEST_DOCUMENT = 64 * 2**20


@dataclass(frozen=True, slots=True)
class CrawlTerms:
    """How the pages of a crawl are chosen, fetched and scraped."""

    scope: Scope
    rules: CrawlRules
    headers: tuple[tuple[str, str], ...]
    origins: Collection[str]
    """Where the headers may go."""
    params: Mapping[str, Any]
    """The arguments of the crawl's own scraper."""
    ways: Sequence[str]
    entries: "EntryTerms"
    allow: tuple[Network, ...]
    session: str | None = None

    @classmethod
    def from_json(cls, stored: Mapping[str, Any], allow: tuple[Network, ...]) -> Self:
        # The origins of the start pages; crawls of older versions did not store them.
        origins = chain.from_iterable(map(reach_of, stored.get("origins", ())))
        headers = tuple((name, value) for name, value in stored["headers"])
        return cls(
            Scope.from_json(stored["scope"]), CrawlRules.from_json(stored.get("rules")), headers,
            frozenset(origins), stored.get("params", {}), stored.get("ways", ()),
            EntryTerms.from_json(stored.get("start")), allow, stored.get("session"),
        )  # fmt: skip

    def options(self, url: Url, params: Mapping[str, Any]) -> str | None:
        headers = self.headers if origin_of(url.text) in self.origins else ()
        return options_for(
            url.host, headers=headers, params=params, ways=self.ways, session=self.session
        )


class EntryTerms(NamedTuple):
    """Which entries of feeds and sitemaps a crawl fetches."""

    scope: Scope
    lists_scope: Scope
    """Of the feeds and sitemaps that others list."""
    only_new: bool
    fetched: bool
    """False: only feeds and sitemaps are read."""

    @classmethod
    def from_json(cls, stored: Mapping[str, Any] | None) -> Self:
        if stored is None:
            nowhere = Scope("page", frozenset())
            return cls(nowhere, nowhere, only_new=True, fetched=False)
        return cls(
            Scope.from_json(stored["scope"]), Scope.from_json(stored["lists"]),
            stored["new_only"], stored["fetched"],
        )  # fmt: skip


def linked_pages(lead: Lead, terms: CrawlTerms) -> list[Wanted]:
    """The pages within the crawl's scope that the links lead to."""
    return list(_found(lambda link: _linked(link, lead, terms), loaded(lead.urls)))


def _found(page_of: Callable[[Any], Any], things: Iterable[Any]) -> Iterable[Any]:
    return (page for page in map(page_of, things) if page is not None)


def _linked(link: Link, lead: Lead, terms: CrawlTerms) -> Wanted | None:
    url = _permitted(link.url, terms.scope, terms.allow)
    if url is None:
        return None
    rule = terms.rules.rule_for(url.text, lead.depth)
    page = _page(url, rule, lead, terms, scraper=link.scraper, more=link.params or {})
    if not link.params:
        return page
    met_as = _page(url, rule, lead, terms, scraper=link.scraper, more={}).fingerprint
    return page._replace(met_as=met_as)


def _permitted(link: str, scope: Scope, allow: tuple[Network, ...]) -> Url | None:
    try:
        url = canonical(link)
    except BadUrl:
        return None
    return url if scope.holds(url.text, url.host) and not refusal_by_name(url.host, allow) else None


def _page(
    url: Url, rule: CrawlRule, lead: Lead | WaitingList, terms: CrawlTerms, *,
    scraper: str | None = None, more: Mapping[str, Any], depth: int | None = None,
    changed_at: int | None = None,
) -> Wanted:  # fmt: skip
    """The page at this URL, by the rule, unless its link names a scraper itself."""
    depth = lead.depth if depth is None else depth
    name = scraper or rule.scraper or lead.scraper
    arguments = arguments_for(name, own=lead.scraper, arguments=terms.params,
                              more={**rule.params, **more})  # fmt: skip
    options = terms.options(url, arguments)
    return Wanted(
        0, fingerprint(url.text, name, identity_of(options)), url.text, url.host, name,
        lead.priority,
        options=options, depth=depth, uses=rule.uses, changed_at=changed_at,
        links=is_followed(rule.uses) and depth < lead.deepest,
    )  # fmt: skip


def listed_pages(lead: WaitingList, document: ListDocument | None, terms: CrawlTerms) -> Listed:
    """The next part of the entries of a feed or sitemap."""
    key = _list_key(lead.url)
    page = _parsed(document)
    if page is None:
        return Listed(key)
    found = page["records"] if terms.entries.fetched and is_listing(page) else ()
    records = sorted(found, key=_stamp, reverse=True)
    part = records[lead.reached : lead.reached + AT_ONCE]
    entries = [*_found(lambda record: _entry(record, lead, terms), part)]
    total, next_at = len(part), lead.reached + AT_ONCE
    older = None
    if not lead.reached:
        lists = [one for one in page.get("more", ()) if one["scraper"] in LISTS]
        entries = [*_found(lambda one: _list(one, lead, terms, MOST_LEVELS), lists), *entries]
        total += len(lists)
        if page.get("next") and records:  # a part without entries says nothing of older ones
            following = {"url": page["next"], "scraper": lead.list_scraper}
            older = _list(following, lead, terms, MOST_PARTS)
    return Listed(key, entries, next_at if next_at < len(records) else None, total,
                  terms.entries.only_new, bool(page.get("more")), older)  # fmt: skip


def _parsed(document: ListDocument | None) -> dict[str, Any] | None:
    if document is None or document.bytes > LARGEST_DOCUMENT:
        return None
    content = zstandard.decompress(document.content, max_output_size=max(1, document.bytes))
    page = orjson.loads(content)
    return page if is_listing(page) or (isinstance(page, dict) and "more" in page) else None


def _stamp(record: Mapping[str, Any]) -> str:
    fields = record["fields"]
    stamp = fields.get("updated_at") or fields.get("published_at") or ""
    return stamp if isinstance(stamp, str) else ""


def _entry(record: Mapping[str, Any], lead: WaitingList, terms: CrawlTerms) -> Entry | None:
    """An entry of the list: a page at depth 0, like a start page."""
    given = record["fields"].get("url")
    url = _permitted(given, terms.entries.scope, terms.allow) if isinstance(given, str) else None
    if url is None:
        return None
    stamp = _stamp(record)
    page = _page(url, terms.rules.rule_for(url.text, 0), lead, terms, more={}, depth=0,
                 changed_at=instant_of(stamp))  # fmt: skip
    return Entry(page, hash_of(f"entry\0{record['key']}"), stamp)


def _list(
    one: Mapping[str, Any], lead: WaitingList, terms: CrawlTerms, levels: int
) -> Entry | None:
    """A feed or sitemap that the document lists: a level deeper than it."""
    url = _permitted(one["url"], terms.entries.lists_scope, terms.allow)
    if url is None or lead.depth <= -levels:
        return None
    rule = CrawlRule(uses=PageUse.LISTS if terms.entries.fetched else ONLY_LISTS)
    more = {} if terms.entries.fetched else SUMMARY
    page = _page(url, rule, lead, terms, scraper=one["scraper"], more=more, depth=lead.depth - 1)
    return Entry(page, _list_key(url.text), one.get("updated_at") or "", is_list=True)


def _list_key(url: str) -> str:
    return hash_of(f"list\0{url}")
