"""A job's results streamed as lines: the server's memory may not grow with the job."""

import asyncio
from functools import partial
from pathlib import Path

import aiohttp
import orjson
import zstandard

from bench.api import server
from bench.databases import ENGINES, Databases
from bench.lines import Line
from bench.setting_up import execute, opened
from bench.sizes import Sizes
from curtsy.store import Statement

MOST_GROWTH = 1.1
_NUMBERS = "WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < :pages)"
JOB = """
    INSERT INTO jobs (id, public_id, door, scraper, state, total, done, created_at, updated_at)
    VALUES (1, 'job_1', 'articles', 'article', 'succeeded', :pages, :pages, 1, 1)
"""
PAGES = f"""
    INSERT INTO pages (id, fingerprint, url, host, scraper, created_at)
    {_NUMBERS} SELECT n, 'f' || n, 'http://a.example/' || n, 'a.example', 'article', 1 FROM n
"""
ITEMS = f"""
    INSERT INTO items (job_id, position, page_id, state, priority, document_version, fetched_at,
                       ended_at)
    {_NUMBERS} SELECT 1, n - 1, n, 1, 5, 1, 1, 1 FROM n
"""
DOCUMENTS = f"""
    INSERT INTO documents (page_id, version, content, hash, content_type, status, url, bytes,
                           fetched_at)
    {_NUMBERS} SELECT n, 1, :content, 'h', 'application/json', 200, 'http://a.example/' || n,
    :bytes, 1 FROM n
"""
ARTICLE = orjson.dumps({"title": "A title", "text": "Words of an article. " * 200})


def run(sizes: Sizes, databases: Databases) -> list[Line]:
    lines = []
    for engine in ENGINES:
        few, many = (_peak(engine, n, databases) for n in (sizes.few_lines, sizes.many_lines))
        lines.append(Line(
            "results", f"{engine}, peak memory: {sizes.many_lines:,} / {sizes.few_lines:,} pages",
            f"{many:.0f} MB", f"{few:.0f} MB", many / few, MOST_GROWTH, at_least=False,
        ))  # fmt: skip
    return lines


def _peak(engine: str, pages: int, databases: Databases) -> float:
    """The server's peak memory in megabytes, by the kernel."""
    with databases.fresh(engine) as url:
        asyncio.run(_fill(url, pages))
        with server(url) as ours:
            read = asyncio.run(_read_lines(f"{ours.url}/jobs/job_1/results"))
            if read != pages:
                raise AssertionError(f"{read} lines of {pages}")
            status = Path(f"/proc/{ours.pid}/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


async def _fill(database: str, pages: int) -> None:
    packed = zstandard.ZstdCompressor().compress(ARTICLE)
    values = {"pages": pages, "content": packed, "bytes": len(ARTICLE)}
    async with opened(database) as (store, _clock):
        for statement in (JOB, PAGES, ITEMS, DOCUMENTS):
            given = {name: v for name, v in values.items() if f":{name}" in statement}
            sql = Statement(statement)
            await store.write(partial(execute, sql, given))


async def _read_lines(url: str) -> int:
    """Reads with a small buffer, as a slow client: unread data must not pile up at the server."""
    lines = 0
    headers = {"Accept": "application/x-ndjson"}
    async with (
        aiohttp.ClientSession(read_bufsize=2**16) as session,
        session.get(url, headers=headers) as reply,
    ):
        async for piece in reply.content.iter_any():
            lines += piece.count(b"\n")
    return lines
