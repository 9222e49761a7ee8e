import asyncio
from collections.abc import AsyncIterator

import pytest
from aiohttp import web

from api.front import Front, front
from api.stage import Stage, staged
from api.visitors import MovableClock
from curtsy.clock import Clock
from curtsy.demo.practice_site import PracticeSite
from curtsy.store import Store
from support.engine import Engine, engine
from support.patience import the_api_has_time  # noqa: F401


@pytest.fixture
async def door(store: Store, clock: Clock) -> AsyncIterator[Front]:
    """The API on either engine; nothing fetches."""
    async with front(store, engine(store, clock)) as opened:
        yield opened


@pytest.fixture
async def plain_door(sqlite_url: str) -> AsyncIterator[Front]:
    """The API where the engine makes no difference."""
    async with Store(sqlite_url) as store, front(store, engine(store, Clock())) as opened:
        yield opened


@pytest.fixture
async def working(store: Store, clock: Clock) -> AsyncIterator[Front]:
    """The API on either engine, with a worker beside it."""
    whole: Engine = engine(store, clock)
    async with front(store, whole) as opened, whole.worker():
        yield opened


@pytest.fixture
def movable() -> MovableClock:
    return MovableClock()


@pytest.fixture
async def guarded(store: Store, movable: MovableClock) -> AsyncIterator[Front]:
    """The API on either engine, with a clock that can be moved on."""
    async with front(store, engine(store, movable)) as opened:
        yield opened


@pytest.fixture
async def stage(store: Store) -> AsyncIterator[Stage]:
    """The API on either engine, at a time that stands, before a network that is a script."""
    async with staged(store) as set_up:
        yield set_up


@pytest.fixture
async def board() -> AsyncIterator[PracticeSite]:
    async with PracticeSite(hosts=4) as opened:
        yield opened


class Site:
    """Pages by path; each may be changed while it is served."""

    def __init__(self) -> None:
        self.pages: dict[str, web.Response | int] = {}
        self.asked: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.held: dict[str, asyncio.Event] = {}
        """Pages that are answered when the test says so."""
        self.url = ""

    def has(self, path: str, body: bytes, content_type: str) -> str:
        self.pages[path] = web.Response(body=body, headers={"Content-Type": content_type})
        return self.url + path

    def fails(self, path: str, status: int) -> str:
        self.pages[path] = status
        return self.url + path

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(request.rel_url.raw_path_qs)
        self.headers.append(dict(request.headers))
        if request.path in self.held:
            await self.held[request.path].wait()
        page = self.pages[request.path]
        if isinstance(page, int):
            return web.Response(status=page)
        return web.Response(body=page.body, headers={"Content-Type": page.headers["Content-Type"]})


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    served = Site()
    app = web.Application()
    app.router.add_get("/{path:.*}", served.answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    place = web.TCPSite(runner, "127.0.0.1", 0)
    await place.start()
    assert runner.addresses
    served.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield served
    await runner.cleanup()
