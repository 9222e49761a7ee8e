"""A news aggregator: forty papers with feeds, read every two hours for a day. Only new articles are
fetched, once each; one of the papers is dead and one is slow."""

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count

import pytest

from api.front import Front, front
from curtsy.clock import HOUR, Clock, boot_time, rfc3339
from curtsy.schedules.ticker import Ticker
from curtsy.store import Store
from support.engine import Engine, engine, until
from support.schedules import scheduler

PAPERS, ROUNDS = 40, 13
DEAD, SLOW = 7, 11
SHOWN = 12
"""How many of its newest articles a feed lists."""
WORDS = "The ferry leaves a little earlier this winter, and the town is of two minds. " * 15


class Ahead(Clock):
    """A clock that goes on by hours when the test says so, and the database's clock with it."""

    def __init__(self) -> None:
        self.by = 0
        super().__init__(monotonic=lambda: boot_time() + self.by)

    def jump(self, database_now: int, sent_at: int, received_at: int) -> int:
        return super().jump(database_now + self.by, sent_at, received_at)

    def adopt(self, database_now: int, sent_at: int, received_at: int, version: int) -> None:
        super().adopt(database_now + self.by, sent_at, received_at, version)


@dataclass
class Paper:
    number: int
    port: int
    titles: list[str] = field(default_factory=list)
    stamps: dict[int, int] = field(default_factory=dict)
    """When an article was corrected, by its number."""
    asked: list[str] = field(default_factory=list)
    not_modified: int = 0

    @property
    def host(self) -> str:
        return f"127.0.20.{self.number + 1}"

    @property
    def feed_url(self) -> str:
        return f"http://{self.host}:{self.port}/feed.xml"

    def feed(self) -> bytes:
        newest = list(enumerate(self.titles))[-SHOWN:][::-1]
        items = "".join(
            f"<entry><id>tag:{self.host},{n}</id><title>{title}</title>"
            f"<link href='/news/{n}'/><updated>{rfc3339(self.stamps[n])}</updated></entry>"
            for n, title in newest
        )
        return f"<feed xmlns='http://www.w3.org/2005/Atom'><title>P</title>{items}</feed>".encode()

    def article(self, number: int) -> bytes:
        title = self.titles[number]
        return (f"<!doctype html><html lang=en><title>{title}</title><article><h1>{title}</h1>"
                f"<p>{WORDS}</p></article></html>").encode()  # fmt: skip

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                writer.write(self.answer(head))
                if self.number == SLOW:
                    await asyncio.sleep(0.3)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    def answer(self, head: str) -> bytes:
        path = head.split(" ", 2)[1]
        self.asked.append(path)
        if path == "/feed.xml":
            tag = f'"{len(self.titles)}-{sum(self.stamps.values())}"'
            if tag in head:
                self.not_modified += 1
                return b"HTTP/1.1 304 Not Modified\r\nContent-Length: 0\r\n\r\n"
            return _response(self.feed(), "application/atom+xml", f"ETag: {tag}\r\n")
        if path.startswith("/news/"):
            return _response(self.article(int(path.rpartition("/")[2])), "text/html")
        return b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"


def _response(body: bytes, content_type: str, more: str = "") -> bytes:
    head = f"HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\n{more}Content-Length: {len(body)}"
    return f"{head}\r\n\r\n".encode() + body


class Press:
    """All papers, which publish and correct articles between two rounds."""

    def __init__(self, papers: list[Paper], clock: Clock) -> None:
        self.papers, self._clock = papers, clock
        self._rng, self._numbers = random.Random(18), count(1)
        self.expected: Counter[tuple[int, int]] = Counter()
        """How often each article should have been fetched."""

    def publish(self) -> None:
        now = self._clock.now()
        for paper in self.papers:
            for _ in range(self._rng.choice((0, 0, 1, 2, 3))):
                paper.titles.append(f"Story {next(self._numbers)} of the harbour town")
                self._says(paper, len(paper.titles) - 1, now)
            if paper.titles and self._rng.random() < 0.05:
                self._says(paper, len(paper.titles) - 1, now)

    def _says(self, paper: Paper, article: int, now: int) -> None:
        if paper.stamps.get(article) != now:
            paper.stamps[article] = now
            if paper.number != DEAD:
                self.expected[paper.number, article] += 1

    def fetched(self) -> Counter[tuple[int, int]]:
        return Counter(
            (paper.number, int(path.removeprefix("/news/")))
            for paper in self.papers for path in paper.asked if path.startswith("/news/")
        )  # fmt: skip


@asynccontextmanager
async def press(clock: Clock) -> AsyncIterator[Press]:
    papers, servers = [], []
    for number in range(PAPERS):
        paper = Paper(number, papers[0].port if papers else 0)
        if number != DEAD:
            server = await asyncio.start_server(paper.serve, paper.host, paper.port)
            servers.append(server)
            paper.port = server.sockets[0].getsockname()[1]
        papers.append(paper)
    try:
        yield Press(papers, clock)
    finally:
        for server in servers:
            server.close()


@pytest.fixture
def clock() -> Ahead:
    return Ahead()


async def every_two_hours(door: Front, papers: list[Paper]) -> str:
    body = {"spider": "article", "start": {"feed": [paper.feed_url for paper in papers]},
            "interval": "0 */2 * * *"}  # fmt: skip
    answer = await door.ask("POST", "/crawl", json=body)
    assert answer.status == 202, answer
    return str(answer.json["schedule_id"])


async def one_round(whole: Engine, ticker: Ticker, number: int) -> str:
    """Fires the slot that is due and works until its job has ended; returns the job."""
    await ticker.tick()
    jobs = await whole.query("SELECT public_id FROM jobs WHERE state <> 'scheduled' ORDER BY id")
    assert len(jobs) == number + 1, "each slot fires once"
    async with whole.worker():
        await whole.ended(jobs[-1].public_id, 60)

        async def quiet() -> bool:
            return not await whole.query("SELECT id FROM links")

        await until(quiet, 30, lambda: "links are left")
    return str(jobs[-1].public_id)


async def test_only_new_articles_of_forty_papers_are_fetched_once_each(
    store: Store, clock: Ahead
) -> None:
    whole = engine(store, clock)
    async with press(clock) as papers, front(store, whole) as door:
        ticker = scheduler(store, clock, whole.submitter).ticker
        await every_two_hours(door, papers.papers)
        clock.by += 2 * HOUR - clock.now() % (2 * HOUR) + 1_000
        results = []
        for number in range(ROUNDS):
            papers.publish()
            job = await one_round(whole, ticker, number)
            assert papers.fetched() == papers.expected, f"round {number}"
            body = (await door.get(f"/jobs/{job}/results?limit=1000")).json
            results += [one["url"] for one in body["results"]]
            assert [one["url"] for one in body["failed_articles"]] == [papers.papers[DEAD].feed_url]
            clock.by += 2 * HOUR
        alive = [paper for paper in papers.papers if paper.number != DEAD]
        assert len(results) == papers.expected.total(), "and each fetch is a result"
        assert all(paper.asked.count("/feed.xml") == ROUNDS for paper in alive)
        unchanged = sum(paper.not_modified for paper in alive)
        print(f"{papers.expected.total()} articles, {unchanged} feeds had not changed")
        assert unchanged > PAPERS
