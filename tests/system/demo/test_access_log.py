"""The access log tells what happened, also when a client goes away in the middle."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

from curtsy.demo import truth
from curtsy.demo.access_log import TICK_MS, monotonic_ns
from curtsy.demo.practice_site import PracticeSite


async def until(fact: Callable[[], bool]) -> None:
    """Wait for a fact that nothing announces."""
    async with asyncio.timeout(5):
        while not fact():
            await asyncio.sleep(0.001)


async def test_each_request_is_logged_with_its_start_and_its_end(client, site):
    before = monotonic_ns()
    async with client.get(site.url(1, '/slow/30/1?q="x"')) as reply:
        await reply.read()
    after = monotonic_ns()
    [entry] = site.entries()
    assert (entry.n, entry.host, entry.status) == (1, "127.0.1.2", 200)
    assert entry.path == "/slow/30/1?q=%22x%22"
    assert entry.port > 0
    assert entry.ended_at is not None
    assert before < entry.at < entry.at + 29_000_000 < entry.ended_at < after


async def test_a_dropped_answer_has_no_status(raw, site):
    assert await raw(b"GET /reset/1/1 HTTP/1.1\r\nHost: a\r\n\r\n") == b""
    [entry] = site.entries()
    assert entry.status is None
    assert entry.ended_at is not None


async def test_a_client_that_hangs_up_ends_its_request_without_a_status(dial, site):
    async with dial() as (_, writer):
        writer.write(b"GET /slow/60000/1 HTTP/1.1\r\nHost: a\r\n\r\n")
        await until(lambda: bool(site.entries()))
        assert site.entries()[0].ended_at is None
    await until(lambda: site.entries()[0].ended_at is not None)
    assert site.entries()[0].status is None


async def test_a_site_that_stops_ends_what_it_was_answering(tmp_path: Path):
    log = tmp_path / "access.jsonl"
    async with PracticeSite(hosts=1, log=log) as site:
        reader, writer = await asyncio.open_connection("127.0.1.1", site.port)
        writer.write(b"GET /drip/60000/1 HTTP/1.1\r\nHost: a\r\n\r\n")
        await reader.readline()
    writer.close()
    await writer.wait_closed()
    [entry] = truth.parse(log.read_bytes())
    assert entry.status is None
    assert entry.ended_at is not None


async def test_the_file_has_a_request_soon_after_it_was_made(client, tmp_path: Path):
    log = tmp_path / "access.jsonl"
    async with PracticeSite(hosts=1, log=log) as site:
        async with client.get(site.url(0, "/page/1")) as reply:
            await reply.read()
        await until(lambda: log.read_bytes().count(b"\n") == 2)
        [entry] = truth.parse(log.read_bytes())
        assert monotonic_ns() - entry.at < 2_000_000_000
        assert [entry] == site.entries()
    assert [entry] == site.entries()


async def test_a_site_that_was_held_up_knows_when_the_request_came(dial, site):
    async with dial() as (reader, writer):
        writer.write(b"GET /page/1 HTTP/1.1\r\nHost: a\r\n\r\n")
        await reader.readuntil(b"</html>")
        sent_at = monotonic_ns()
        writer.write(b"GET /page/2 HTTP/1.1\r\nHost: a\r\n\r\n")
        time.sleep(0.2)  # noqa: ASYNC251 - holding up the loop is the point
        await reader.readuntil(b"</html>")
    entry = site.entries()[-1]
    assert -1 <= (entry.at - sent_at) / 1e6 <= 2 * TICK_MS + 1
