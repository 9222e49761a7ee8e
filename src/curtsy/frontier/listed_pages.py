"""Admits the pages that a feed or a sitemap lists, some thousand in a transaction."""

from collections.abc import Sequence
from typing import NamedTuple

from curtsy.frontier.admit import bands_of, places_for
from curtsy.frontier.crawls import (
    Admitted,
    Lead,
    OpenCrawl,
    admit_to_crawl,
    count_admitted,
    lock_open_crawl,
    not_crawled,
)
from curtsy.frontier.subscriptions import Entry, lock_subscription, mark_whole, remember, unseen
from curtsy.store import Connection, Statement

_CLAIM = Statement("DELETE FROM links WHERE id = :id AND reached = :reached RETURNING id")
_GO_ON = Statement(
    "UPDATE links SET reached = :next WHERE id = :id AND reached = :reached RETURNING id"
)
_DOCUMENT = Statement(
    "SELECT content, bytes FROM documents WHERE page_id = :page_id AND version = :version"
)

_POSITIONS = Statement(
    """
    SELECT p.fingerprint, i.position FROM {wanted}
    JOIN pages p ON p.fingerprint = wanted.fingerprint
    JOIN items i ON i.page_id = p.id AND i.job_id = :job_id
    """,
    wanted={"fingerprint": "text"},
)


class ListDocument(NamedTuple):
    """The document of a feed or sitemap, as its scraper stored it."""

    content: bytes
    """Compressed."""
    bytes: int


class Listed(NamedTuple):
    """The part of a document that one transaction admits."""

    key: str
    """Identifies the document itself among the entries of the list that it was found in."""
    entries: Sequence[Entry] = ()
    next_at: int | None = None
    """Where the next part begins; None: this is the last."""
    total: int = 0
    """Entries in this part, those included that lead outside the scope."""
    only_new: bool = True
    """Entries that were seen before are left out."""
    older: Entry | None = None
    """Where the list goes on: of use if anything in this part is new."""


def read_list(connection: Connection, lead: Lead) -> ListDocument | None:
    """None: the document was deleted meanwhile."""
    row = _DOCUMENT(connection, page_id=lead.page_id, version=lead.document_version).one_or_none()
    return ListDocument(row.content, row.bytes) if row is not None else None


def admit_listed(
    connection: Connection, lead: Lead, listed: Listed, *, max_age: int, delay_ms: int, now: int
) -> int:
    """Admits the entries of this part that the subscription has not seen, until the crawl is full.
    Returns how many; none if another process was first."""
    older = [listed.older] if listed.older is not None else []
    bands = bands_of(entry.page for entry in (*listed.entries, *older))
    places = places_for(connection, bands, delay_ms=delay_ms, now=now)
    crawl = lock_open_crawl(connection, lead.job_id)
    if crawl is None or not _claim(connection, lead, listed.next_at):
        return 0
    wanted = _wanted(connection, lead, listed, now=now)
    new = not_crawled(
        connection, lead.job_id, (entry.page for entry in wanted), lead.subscription_id
    )
    admitted = admit_to_crawl(
        connection, crawl, new[: crawl.room], places, max_age=max_age, now=now
    )
    if lead.subscription_id is not None:
        placed = _placed(connection, lead.job_id, wanted, admitted)
        remember(connection, lead.subscription_id, placed, job_id=lead.job_id, now=now)
        if listed.next_at is None and len(new) < crawl.room:  # else something may have been cut
            mark_whole(connection, lead.subscription_id, listed.key)
    _count(connection, lead, crawl, listed, wanted, admitted, now=now)
    return len(admitted.pages)


def _claim(connection: Connection, lead: Lead, next_at: int | None) -> bool:
    """Whether this part is ours to admit: another process may have admitted it."""
    if next_at is None:
        claimed = _CLAIM(connection, id=lead.id, reached=lead.reached)
    else:
        claimed = _GO_ON(connection, id=lead.id, reached=lead.reached, next=next_at)
    return claimed.scalar() is not None


def _wanted(connection: Connection, lead: Lead, listed: Listed, *, now: int) -> Sequence[Entry]:
    wanted = listed.entries
    if lead.subscription_id is not None:
        lock_subscription(connection, lead.subscription_id, now=now)
        new = unseen(connection, lead.subscription_id, listed.entries, now=now)
        wanted = new if listed.only_new else listed.entries
    return [*wanted, listed.older] if wanted and listed.older is not None else wanted


def _placed(
    connection: Connection, job_id: int, wanted: Sequence[Entry], admitted: Admitted
) -> list[Entry]:
    """The entries whose pages are in the job, with their positions there, each once. Several
    entries may lead to one page, and another list may have led to it before."""
    positions = {page.fingerprint: page.position for page in admitted.pages}
    met = {entry.page.fingerprint for entry in wanted} - positions.keys()
    if met:
        rows = _POSITIONS(connection, job_id=job_id, wanted=[(one,) for one in sorted(met)])
        positions |= {row.fingerprint: row.position for row in rows}
    by_key: dict[str, Entry] = {}
    for entry in wanted:
        if (position := positions.get(entry.page.fingerprint)) is not None:
            by_key[entry.key] = entry._replace(page=entry.page._replace(position=position))
    return list(by_key.values())


def _count(
    connection: Connection, lead: Lead, crawl: OpenCrawl, listed: Listed,
    wanted: Sequence[Entry], admitted: Admitted, *, now: int,
) -> None:  # fmt: skip
    read = {
        "url": lead.page_url, "entries": listed.total,
        "outside": listed.total - len(listed.entries),
        "seen": max(0, len(listed.entries) - len(wanted)),
        "full": crawl.admitted + len(admitted.pages) >= crawl.max_pages,
    }  # fmt: skip
    leads = 1 if listed.next_at is None else 0
    count_admitted(connection, lead.job_id, admitted, leads=leads, now=now, read=read)
