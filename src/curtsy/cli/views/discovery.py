"""Shows what discovery found: a row for each feed and sitemap."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any
from urllib.parse import urljoin

from curtsy.cli.console.table import table
from curtsy.cli.console.text import counted, to_minute
from curtsy.model.urls import BadUrl, canonical

PLACES = ("page", "robots.txt")
"""They name lists, but are none themselves."""
PARTS_SHOWN = 1_000


@dataclass(frozen=True, slots=True)
class FoundList:
    url: str
    kind: str
    title: str | None
    language: str | None
    entries: int
    newest_at: str | None
    oldest_at: str | None
    goes_on: bool
    """There are older entries on further pages, which are not counted."""
    parts: Sequence[str]
    """The feeds or sitemaps that this one lists."""


@dataclass(frozen=True, slots=True)
class Discovered:
    lists: Sequence[FoundList]
    failed: Sequence[tuple[str, str]]
    """URLs, each with the reason."""
    unread: int
    """Feeds and sitemaps that are named, but were not read."""

    def as_json(self) -> dict[str, Any]:
        failed = [{"url": url, "error": error} for url, error in self.failed]
        return {"lists": [asdict(one) for one in self.lists], "failed": failed,
                "not_read": self.unread}  # fmt: skip


def discovered(results: Iterable[Mapping[str, Any]], *, site: str, pages: int) -> Discovered:
    """From the results of a job of discovery, which had so many pages. A page that does not exist
    has no result."""
    summaries, failed = [], []
    for result in results:
        if "error" in result:
            failed.append((result["url"], str(result["error"])))
        elif (summary := _summary(result)) is not None:
            summaries.append((result["url"], summary))
    parts = [one for _url, summary in summaries for one in summary["more"]]
    titles = {_canonical(one["url"]): one.get("title") for one in parts}
    lists = [_list(url, summary, titles.get(url)) for url, summary in summaries
             if summary["kind"] not in PLACES]  # fmt: skip
    starts = {_canonical(urljoin(site, path)) for path in ("", "/robots.txt", "/sitemap.xml")}
    named = len(titles.keys() - starts)
    return Discovered(lists, failed, max(0, named - (pages - len(starts))))


def _summary(result: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """None: the page does not exist, or is no list."""
    found = result.get("record")
    return found if isinstance(found, dict) and "kind" in found and "more" in found else None


def _list(url: str, summary: Mapping[str, Any], title: str | None) -> FoundList:
    parts = [one["url"] for one in summary["more"][:PARTS_SHOWN]]
    return FoundList(
        url, summary["kind"], summary["title"] or title, summary["language"], summary["entries"],
        summary["newest_at"], summary["oldest_at"], summary["goes_on"], parts,
    )  # fmt: skip


def discovery_lines(found: Discovered) -> Iterator[str]:
    """A table, without lines where nothing was found."""
    if not found.lists:
        return
    rows = [(one.kind, one.title or "", _size(one), _date(one.newest_at), _date(one.oldest_at),
             one.url) for one in found.lists]  # fmt: skip
    headings = ("Kind", "Title", "Entries", "Newest", "Oldest", "Address")
    yield from table(headings, rows, cut=("Title", "Address"))


def _size(one: FoundList) -> str:
    if one.parts and not one.entries:
        return counted(len(one.parts), "part")
    return f"{one.entries}, and older" if one.goes_on else str(one.entries)


def _date(instant: str | None) -> str:
    return to_minute(instant) if instant else "-"


def _canonical(url: str) -> str:
    try:
        return canonical(url).text
    except BadUrl:
        return url
