"""Pages wanted by a job become visits, unless they are fresh enough or already waiting.

The upsert of the page is its lock: whoever adds, ends or removes an item of a page holds it.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import orjson

from curtsy.frontier.sources import known_hosts, make_hosts, wake
from curtsy.model.jobs import band_of
from curtsy.store import Connection, Statement

CHUNK = 5_000


@dataclass(frozen=True, slots=True)
class Wanted:
    """A page that a job wants, its URL already canonical."""

    url: str
    host: str
    fingerprint: str
    scraper: str
    priority: int
    options: str | None = None


@dataclass(frozen=True, slots=True)
class Admitted:
    """`fresh` means that what is stored will do; then it says which document that is."""

    page_id: int
    fresh: bool
    document_version: int
    fetched_at: int | None


_UPSERT_PAGES = Statement(
    """
    INSERT INTO pages (fingerprint, url, host, scraper, options, reference_count, created_at)
    SELECT fingerprint, url, host, scraper, options, 1, :now FROM {wanted}
    WHERE true ORDER BY fingerprint
    ON CONFLICT (fingerprint) DO UPDATE SET reference_count = pages.reference_count + 1
    RETURNING id, fingerprint, turn, outcome, fetched_at, document_version
    """,
    wanted={"fingerprint": "text", "url": "text", "host": "text", "scraper": "text",
            "options": "text"},
)  # fmt: skip

_INSERT_VISITS = Statement(
    """
    INSERT INTO visits (page_id, source_id, priority, rank, turn, created_at)
    SELECT page_id, source_id, priority, rank, turn, :now FROM {wanted} WHERE true
    ON CONFLICT (page_id) DO UPDATE SET priority = excluded.priority, rank = excluded.rank
    WHERE excluded.priority < visits.priority
    """,
    wanted={"page_id": "bigint", "source_id": "bigint", "priority": "smallint", "rank": "bigint",
            "turn": "bigint"},
)  # fmt: skip

_RANKS = Statement(
    "SELECT s.id, s.ranks FROM {wanted} JOIN sources s ON s.id = wanted.id",
    wanted={"id": "bigint"},
)


class Ranks:
    """Fair order: a page's rank is its source's virtual time plus its position in its job.

    Two jobs on one source therefore take turns, whatever their sizes. Virtual time is kept for
    each priority: the rank of the last page of that priority that was dealt with.
    """

    def __init__(self, virtual_times: dict[int, dict[str, list[int]]]) -> None:
        self._next: dict[tuple[int, int], int] = defaultdict(int)
        for source_id, by_priority in virtual_times.items():
            for priority, (virtual_time, _floor) in by_priority.items():
                self._next[source_id, int(priority)] = virtual_time

    @classmethod
    def read(cls, connection: Connection, source_ids: set[int]) -> "Ranks":
        rows = _RANKS(connection, wanted=[(i,) for i in sorted(source_ids)])
        return cls({i: orjson.loads(ranks) for i, ranks in rows if ranks != "{}"})

    def take(self, source_id: int, priority: int) -> int:
        rank = self._next[source_id, priority] + 1
        self._next[source_id, priority] = rank
        return rank


def admit(
    connection: Connection, wanted: Sequence[Wanted], *, max_age: int, delay_ms: int, now: int
) -> list[Admitted]:
    """What was wanted, in that order, each with its page. Raises nothing: limits were checked."""
    source_of = _sources_of(connection, wanted, delay_ms=delay_ms, now=now)
    bands: dict[int, int] = {}
    for page in wanted:
        source_id, band = source_of[page.host], band_of(page.priority)
        bands[source_id] = min(bands.get(source_id, band), band)
    wake(connection, bands, now=now)
    ranks = Ranks.read(connection, set(bands))
    admitted: dict[str, Admitted] = {}
    in_order = sorted(range(len(wanted)), key=lambda i: wanted[i].fingerprint)
    rank_of = [ranks.take(source_of[page.host], page.priority) for page in wanted]
    for start in range(0, len(wanted), CHUNK):
        chunk = [(wanted[i], rank_of[i]) for i in in_order[start : start + CHUNK]]
        admitted |= _admit_chunk(connection, chunk, source_of, fresh_since=now - max_age, now=now)
    return [admitted[page.fingerprint] for page in wanted]


def _sources_of(
    connection: Connection, wanted: Sequence[Wanted], *, delay_ms: int, now: int
) -> dict[str, int]:
    hosts = {page.host for page in wanted}
    found = known_hosts(connection, hosts)
    if missing := hosts - found.keys():
        make_hosts(connection, missing, delay_ms=delay_ms, now=now)
        found |= known_hosts(connection, missing)
    return found


def _admit_chunk(
    connection: Connection,
    chunk: list[tuple[Wanted, int]],
    source_of: dict[str, int],
    *,
    fresh_since: int,
    now: int,
) -> dict[str, Admitted]:
    rows = [(p.fingerprint, p.url, p.host, p.scraper, p.options) for p, _rank in chunk]
    pages = {row.fingerprint: row for row in _UPSERT_PAGES(connection, wanted=rows, now=now)}
    admitted, visits = {}, []
    for page, rank in chunk:
        row = pages[page.fingerprint]
        fresh = (
            row.outcome in ("fetched", "not_modified")
            and row.document_version > 0
            and row.fetched_at > fresh_since
        )
        admitted[page.fingerprint] = Admitted(row.id, fresh, row.document_version, row.fetched_at)
        if not fresh:
            visits.append((row.id, source_of[page.host], page.priority, rank, row.turn + 1))
    if visits:
        _INSERT_VISITS(connection, wanted=visits, now=now)
    return admitted
