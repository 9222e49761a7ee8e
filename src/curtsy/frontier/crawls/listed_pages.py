"""Admits the pages that a feed or a sitemap lists, some thousand in a transaction."""

from collections.abc import Sequence
from typing import NamedTuple

from curtsy.frontier.admit import bands_of, places_for
from curtsy.frontier.crawls.leads import (
    NOTHING_ADMITTED,
    Admitted,
    OpenCrawl,
    admit_to_crawl,
    count_admitted,
    lock_open_crawl,
    not_crawled,
)
from curtsy.frontier.crawls.lists import WaitingList, claim
from curtsy.frontier.crawls.subscriptions import (
    Entry,
    lock_subscription,
    mark_whole,
    remember,
    unseen,
)
from curtsy.store import Connection, Statement

_POSITIONS = Statement(
    """
    SELECT p.fingerprint, i.position FROM {wanted}
    JOIN pages p ON p.fingerprint = wanted.fingerprint
    JOIN items i ON i.page_id = p.id AND i.job_id = :job_id
    """,
    wanted={"fingerprint": "text"},
)


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
    names_lists: bool = False
    """The document lists other lists, too: what they list may not have fitted into the crawl."""
    older: Entry | None = None
    """Where the list goes on: of use if anything in this part is new."""


def admit_listed(
    connection: Connection, waiting: WaitingList, listed: Listed, *, max_age: int, delay_ms: int,
    now: int,
) -> Admitted:  # fmt: skip
    """Admits the entries of this part that the subscription has not seen, until the crawl is full;
    none if another process was first."""
    older = [listed.older] if listed.older is not None else []
    bands = bands_of(entry.page for entry in (*listed.entries, *older))
    places = places_for(connection, bands, delay_ms=delay_ms, now=now)
    crawl = lock_open_crawl(connection, waiting.job_id)
    if crawl is None or not claim(connection, waiting, listed.next_at):
        return NOTHING_ADMITTED
    wanted = _wanted(connection, waiting, listed, now=now)
    new = not_crawled(
        connection, waiting.job_id, (entry.page for entry in wanted), waiting.subscription_id
    )
    admitted = admit_to_crawl(
        connection, crawl, new[: crawl.room], places, max_age=max_age, now=now
    )
    if waiting.subscription_id is not None:
        placed = _placed(connection, waiting.job_id, wanted, admitted)
        remember(connection, waiting.subscription_id, placed, found_in=listed.key,
                 job_id=waiting.job_id, now=now)  # fmt: skip
        is_whole = listed.next_at is None and not listed.names_lists
        if is_whole and len(new) < crawl.room:  # else something may have been cut
            mark_whole(connection, waiting.subscription_id, listed.key)
    _count(connection, waiting, crawl, listed, wanted, admitted, now=now)
    return admitted


def _wanted(
    connection: Connection, waiting: WaitingList, listed: Listed, *, now: int
) -> Sequence[Entry]:
    wanted = listed.entries
    if waiting.subscription_id is not None:
        lock_subscription(connection, waiting.subscription_id, now=now)
        new = unseen(connection, waiting.subscription_id, listed.entries, now=now)
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
    connection: Connection, waiting: WaitingList, crawl: OpenCrawl, listed: Listed,
    wanted: Sequence[Entry], admitted: Admitted, *, now: int,
) -> None:  # fmt: skip
    read = {
        "url": waiting.url, "entries": listed.total,
        "outside": listed.total - len(listed.entries),
        "seen": max(0, len(listed.entries) - len(wanted)),
        "full": crawl.admitted + len(admitted.pages) >= crawl.max_pages,
    }  # fmt: skip
    leads = 1 if listed.next_at is None else 0
    count_admitted(connection, waiting.job_id, admitted, leads=leads, now=now, read=read)
