"""The ceiling on SQLite: the rows that our flush writes for a visit, by plain executemany.

Same tables, same pragmas, same batches; no lease, no take, no fence, no counting, nothing read
back. What is left between this and our drain is the price of doing it safely.
"""

import sqlite3
import time
from typing import Any

import uvloop

from bench.children import contestant
from bench.draining import CONTENT
from bench.setting_up import invented_urls, opened, submit
from curtsy.store.sqlite import PRAGMAS
from curtsy.worker.flusher import MOST_RESULTS

STATEMENTS = (
    "DELETE FROM visits WHERE page_id = :page",
    """
    UPDATE pages SET turn = 1, outcome = 'fetched', checked_at = :now, fetched_at = :now,
        etag = '"1"', document_version = 1, document_hash = :hash WHERE id = :page
    """,
    """
    INSERT INTO documents (page_id, version, content, hash, content_type, charset, status, url,
                           bytes, fetched_at)
    VALUES (:page, 1, :content, :hash, 'text/html', 'utf-8', 200, :url, 300, :now)
    """,
    """
    INSERT INTO attempts (page_id, turn, source_id, worker, attempt, url, outcome, status, bytes,
                          started_at, ended_at)
    VALUES (:page, 1, 1, 'w', 1, :url, 'fetched', 200, 300, :now, :now)
    """,
    """
    UPDATE items SET state = 1, document_version = 1, fetched_at = :now, ended_at = :now
    WHERE page_id = :page AND state = 0
    """,
    """
    INSERT INTO events (job_id, n, at, name, page_id, data)
    VALUES (1, :page + 10, :now, 'page_fetched', :page, :url)
    """,
)


async def load(database: str, visits: int, sources: int) -> None:
    async with opened(database) as (store, clock):
        await submit(store, clock, invented_urls(visits, sources))


def write_all(connection: sqlite3.Connection) -> int:
    pages = connection.execute("SELECT id, url FROM pages ORDER BY id").fetchall()
    now = time.time_ns() // 1_000_000
    for start in range(0, len(pages), MOST_RESULTS):
        rows = [
            {"page": page, "url": url, "now": now, "hash": f"hash-of-{page}", "content": CONTENT}
            for page, url in pages[start : start + MOST_RESULTS]
        ]
        connection.execute("BEGIN IMMEDIATE")
        for statement in STATEMENTS:
            connection.executemany(statement, rows)
        connection.execute("COMMIT")
    return len(pages)


def measure(database: str, visits: int, sources: int) -> dict[str, Any]:
    uvloop.run(load(database, visits, sources))
    path = database.removeprefix("sqlite:///")
    connection = sqlite3.connect(path, isolation_level=None)
    for pragma in PRAGMAS:
        connection.execute(pragma)
    began = time.perf_counter()
    written = write_all(connection)
    seconds = time.perf_counter() - began
    connection.close()
    return {"visits": written, "seconds": seconds}


if __name__ == "__main__":
    contestant(measure)
