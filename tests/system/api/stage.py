"""A stage for the documents' own examples: their URLs as written, at the times they name.

The clock stands until the test moves it, and the network is a script. Everything between them is
the real thing: the server, the store, the frontier, the reading of pages.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any

from api.front import Front, front
from curtsy.clock import Clock
from curtsy.extract import ExtractLimits, Pool
from curtsy.fetch import Request
from curtsy.frontier.batch import Result
from curtsy.frontier.take import Visit
from curtsy.model.outcome import Reply
from curtsy.politeness.policy import Policy
from curtsy.store import Store
from curtsy.worker.document_packer import DocumentPacker
from curtsy.worker.link_follower import LinkFollower
from curtsy.worker.pipeline import Pipeline
from support.engine import engine
from support.frontier import ScriptedWorker, Time

HTML = {"content-type": "text/html; charset=utf-8"}
WORDS = "Full scraped article content here, and as much of it as an article has. " * 12


def instant(moment: str) -> int:
    """As RFC 3339 writes it, with or without a fraction."""
    return round(datetime.fromisoformat(moment).timestamp() * 1000)


def story(title: str, *links: str) -> bytes:
    anchors = "".join(f'<a href="{link}">on</a>' for link in links)
    page = f"<html lang=en><title>{title}</title><article><h1>{title}</h1><p>{WORDS}</p></article>"
    return f"{page}{anchors}".encode()


class Script:
    """The network: a page for each URL that it knows, 404 for all others."""

    def __init__(self) -> None:
        self.pages: dict[str, bytes] = {}
        self.asked: list[str] = []

    async def fetch(
        self, request: Request, _may_start: Callable[[], bool], _once: object = None
    ) -> Reply:
        self.asked.append(request.url)
        body = self.pages.get(request.url)
        if body is None:
            return Reply(404, request.url, HTML, b"", 0)
        return Reply(200, request.url, HTML, body, len(body))


class Stage:
    def __init__(self, door: Front, time: Time, pool: Pool) -> None:
        self.door, self.script = door, Script()
        self._time, self._store = time, door.engine.store
        self._worker = ScriptedWorker(self._store, time, "w_stage")
        self._pipeline = Pipeline(
            robots=None, fetcher=self.script, pool=pool,  # type: ignore[arg-type]
            now=time, max_redirects=10,
        )  # fmt: skip
        self._follower = LinkFollower(
            store=self._store, clock=door.engine.clock, delay_ms=0, allow=()
        )

    def at(self, moment: str) -> None:
        self._time.at = instant(moment)

    async def enter(self) -> None:
        await self._worker.register()

    async def waiting(self) -> list[Visit]:
        """What waits to be fetched; its sources are the worker's from then on."""
        await self._worker.lease()
        return await self._worker.take()

    async def start(self, *urls: str) -> None:
        """Their requests have left, and nothing has come back."""
        pages = [visit.page_id for visit in await self.waiting() if visit.url in urls]
        assert len(pages) == len(urls), urls
        sources = {visit.source_id: None for visit in await self.waiting()}
        batch = self._worker.batch(release=sources, started=pages)  # type: ignore[arg-type]
        await self._worker.flush_batch(batch)

    async def fetch(self, *urls: str) -> None:
        """These that wait, or all of them, end now."""
        found = [visit for visit in await self.waiting() if not urls or visit.url in urls]
        assert not urls or len(found) == len(urls), (urls, found)
        results = [await self._result(visit) for visit in found]
        await DocumentPacker().pack(results)
        await self._worker.flush(*results, started=[visit.page_id for visit in found])
        while await self._follower.step() == 0:
            pass

    async def _result(self, visit: Visit) -> Result:
        done = await self._pipeline.run(visit, Policy(robots=False), lambda: True)
        assert done.outcome is not None
        now = self._time()
        return Result(visit, done.outcome, now, now, document=done.document, links=done.links,
                      lines=done.lines)  # fmt: skip


@asynccontextmanager
async def staged(store: Store) -> AsyncIterator[Stage]:
    time = Time()
    clock = Clock(monotonic=time, wall=time)
    async with front(store, engine(store, clock)) as door, Pool(ExtractLimits(processes=1)) as pool:
        stage = Stage(door, time, pool)
        await stage.enter()
        yield stage


def same(answer: dict[str, Any], example: dict[str, Any]) -> None:
    """Field by field: every field of the example, and each moment as the moment it is."""
    for name, value in example.items():
        assert name in answer, f"{name} is missing: {answer}"
        if name.endswith("_at"):
            assert instant(answer[name]) == instant(value), name
            assert answer[name].endswith("Z")
        else:
            assert answer[name] == value, name
