from collections.abc import AsyncIterator

import pytest
from aiohttp import web

from api.front import Front, front
from api.visitors import MovableClock
from curtsy.clock import Clock
from curtsy.store import Store
from support.engine import Engine, engine


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


class Site:
    """Pages by path; each may be changed while it is served."""

    def __init__(self) -> None:
        self.pages: dict[str, web.Response | int] = {}
        self.asked: list[str] = []
        self.headers: list[dict[str, str]] = []
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
        page = self.pages[request.path]
        if isinstance(page, int):
            return web.Response(status=page)
        return web.Response(body=page.body, headers={"Content-Type": page.headers["Content-Type"]})


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    served = Site()
    app = web.Application()
    app.router.add_get("/{path:.*}", served.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    place = web.TCPSite(runner, "127.0.0.1", 0)
    await place.start()
    assert runner.addresses
    served.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield served
    await runner.cleanup()
