"""After the chaos: what the database says and what the site saw, held against the promises.

A page may be *asked for* twice, when whoever asked first was killed or cut off before it could
tell. It must never be *recorded* twice, and the site must never be asked too soon.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from chaos.witness import testimony
from curtsy.demo.access_log import TICK_MS
from curtsy.demo.truth import Entry, gap, smallest_gaps
from curtsy.store import Connection
from support.departures import NANOSECONDS, SET_AT_LEAST, Departures
from support.promises import violations
from support.sql import run, text

STAMP_LATE = 2 * TICK_MS / 1000
"""The site's stamps may be late by so many seconds."""
LEFT_LATE = 0.001 + SET_AT_LEAST / NANOSECONDS
"""And the kernel's, of packets as they leave: a clock that is set by less goes unnoticed."""
MUST_FAIL = "/missing/"

_NOTHING_LEFT = {
    "every job has ended": "SELECT public_id, state FROM jobs WHERE state IN ('queued', 'running')",
    "no visit is left": "SELECT page_id, source_id, turn, due_at FROM visits",
    "no source is owned by a worker that is gone": """
        SELECT name, owner FROM sources
        WHERE owner IS NOT NULL AND owner NOT IN (SELECT id FROM workers)""",
    "no turn of a page was recorded twice": """
        SELECT page_id, turn, count(*) FROM attempts GROUP BY page_id, turn HAVING count(*) > 1""",
    "every success ended the item of a job": """
        SELECT a.page_id, a.turn FROM attempts a WHERE a.outcome IN ('fetched', 'not_modified')
        AND NOT EXISTS (SELECT 1 FROM items i WHERE i.page_id = a.page_id AND i.state = 1
                        AND i.fetched_at = a.ended_at AND NOT i.cached)""",
    "every item that is done was fetched once for it": """
        SELECT i.job_id, i.page_id, count(a.turn) FROM items i
        LEFT JOIN attempts a ON a.page_id = i.page_id AND a.ended_at = i.fetched_at
            AND a.outcome IN ('fetched', 'not_modified')
        WHERE i.state = 1 AND NOT i.cached
        GROUP BY i.job_id, i.page_id HAVING count(a.turn) <> 1""",
}  # fmt: skip
_ITEMS = """
    SELECT p.url, i.state, i.kind, i.error FROM items i JOIN pages p ON p.id = i.page_id
    WHERE i.state IN (1, 2)
    """

_TRIES = "SELECT worker, started_at, ended_at FROM attempts WHERE url LIKE :path ORDER BY turn"
_RECORDED = "SELECT url, count(*) AS number FROM attempts GROUP BY url"


@dataclass(frozen=True, slots=True)
class Reckoning:
    violations: list[str]
    items: int
    recorded: int
    """Tries that the database knows of."""
    requests: int
    """Requests for pages that the site saw."""
    smallest_gap: float | None
    in_vain: dict[str, int]
    """Pages that were asked for more often than recorded, and how much more often."""

    @property
    def unrecorded(self) -> int:
        """Requests whose asker could not tell of them."""
        return self.requests - self.recorded

    def __str__(self) -> str:
        shown = "none" if self.smallest_gap is None else f"{self.smallest_gap * 1000:.1f} ms"
        share = self.unrecorded / max(1, self.requests)
        return (
            f"{self.items} items, {self.requests} requests, {self.recorded} recorded, "
            f"{self.unrecorded} in vain ({share:.2%}), smallest gap {shown}"
        )


def reckon(
    connection: Connection,
    entries: Sequence[Entry],
    jobs: set[str],
    *,
    delay: float,
    departures: Departures,
) -> Reckoning:
    """Everything that is wrong, and the figures of the run."""
    gaps = smallest_gaps(entries)
    soon = too_soon(entries, delay, departures)
    found = [_with_tries(connection, sentence) for sentence in soon]
    found += [*_left_over(connection), *violations(connection)]
    found += [*_jobs(connection, jobs), *_outcomes(connection), *testimony(connection)]
    recorded = run(connection, text(_RECORDED)).all()
    tries, asked = _by_page({row.url: row.number for row in recorded}, entries)
    found += [f"{page} was recorded {tries[page]} times but asked for {asked[page]} times"
              for page in tries - asked][:5]  # fmt: skip
    return Reckoning(
        violations=found,
        items=run(connection, text("SELECT count(*) FROM items")).scalar_one(),
        recorded=sum(row.number for row in recorded),
        requests=sum(entry.path != "/robots.txt" for entry in entries),
        smallest_gap=min(gaps.values(), default=None),
        in_vain=dict(asked - tries),
    )


def _with_tries(connection: Connection, sentence: str) -> str:
    """What the workers say of the same two requests: whether the site was late, or we too early."""
    told = []
    for path in re.findall(r"(/\S+) at \d+ from", sentence):
        rows = run(connection, text(_TRIES), {"path": f"%{path}"}).all()
        told += [f"{path} {row.started_at} to {row.ended_at} by {row.worker}" for row in rows]
    return f"{sentence}; recorded: {', '.join(told)}"


def too_soon(entries: Sequence[Entry], delay: float, departures: Departures) -> list[str]:
    """The shortest of the gaps that are too short, for each host.

    The site's stamps raise the suspicion, the kernel's decide.
    """
    departures.drain()
    last: dict[str, Entry] = {}
    worst: dict[str, tuple[Entry, Entry]] = {}
    for entry in entries:
        before, last[entry.host] = last.get(entry.host), entry
        if before is None or gap(before, entry) >= delay - STAMP_LATE:
            continue
        left = departures.gap(before, entry)
        if left is not None and left >= delay - LEFT_LATE:
            continue
        pair = worst.get(entry.host)
        if pair is None or gap(before, entry) < gap(*pair):
            worst[entry.host] = before, entry
    return [_sentence(before, after) for before, after in worst.values()]


def _sentence(before: Entry, after: Entry) -> str:
    seen = [f"{e.path} at {e.at} from {e.port}" for e in (before, after)]
    return f"too soon: {after.host} after {gap(before, after) * 1000:.1f} ms ({', '.join(seen)})"


def _left_over(connection: Connection) -> list[str]:
    found = []
    for promise, offenders in _NOTHING_LEFT.items():
        if rows := run(connection, text(offenders)).all():
            shown = [tuple(row) for row in rows[:5]]
            found.append(f"not true that {promise}: {len(rows)} times, as {shown}")
    return found


def _jobs(connection: Connection, acknowledged: set[str]) -> list[str]:
    known = set(run(connection, text("SELECT public_id FROM jobs")).scalars())
    found = []
    if lost := acknowledged - known:
        found.append(f"{len(lost)} acknowledged jobs are lost: {sorted(lost)[:5]}")
    if extra := known - acknowledged:
        found.append(f"{len(extra)} jobs that nobody was told of: {sorted(extra)[:5]}")
    return found


def _outcomes(connection: Connection) -> list[str]:
    """Pages of the practice site come out as they must, whatever happened to their workers."""
    wrong: Counter[str] = Counter()
    for url, state, kind, error in run(connection, text(_ITEMS)):
        fails = MUST_FAIL in url
        if (state == 2) != fails and "The worker died" not in (error or ""):
            path = url.split("/")[3]
            wrong[f"/{path}/ {'done' if state == 1 else f'failed as {kind}: {error}'}"] += 1
    return [f"{number} pages came out wrong: {what}" for what, number in wrong.items()]


def _by_page(
    recorded: dict[str, Any], entries: Sequence[Entry]
) -> tuple[Counter[str], Counter[str]]:
    """How often each page was recorded, and how often it was asked for."""
    tries: Counter[str] = Counter()
    for url, number in recorded.items():
        host, _, path = url.removeprefix("http://").partition("/")
        tries[f"{host.partition(':')[0]}/{path}"] += number
    pages = (entry for entry in entries if entry.path != "/robots.txt")
    return tries, Counter(f"{entry.host}{entry.path}" for entry in pages)
