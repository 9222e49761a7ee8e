"""No request holds the event loop: the longest turn while hostile requests of every kind come in is
measured in processor time of the loop's own thread, so that a busy machine does not matter."""

import asyncio
import gc
import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from io import BytesIO
from typing import Any, NamedTuple

import aiohttp
import orjson
import pytest

from api.front import Front, front
from curtsy.api.middleware import json_route
from curtsy.api.routes import crawl as crawl_route
from curtsy.clock import Clock
from curtsy.jobs import submitter
from curtsy.scrapers.recipe import compile_pattern, patterns_of
from curtsy.store import Store, postgres
from support.engine import engine
from support.loop_turns import LoopThread

MOST_SECONDS = 0.05
SLOW_PATTERN = "(?i)" + "[b-\uffff]" * 60
"""Takes about a third of a second to compile."""
NOWHERE = "http://127.0.0.1:99/"
URLS = [f"http://h{n % 50}.example.com/page/{n}?q={n}" for n in range(100_000)]


class Request(NamedTuple):
    method: str
    path: str
    body: bytes
    status: int


def post(path: str, body: Any, status: int) -> Request:
    return Request("POST", path, body if isinstance(body, bytes) else orjson.dumps(body), status)


def crawl(spider: str = "listing", **fields: Any) -> dict[str, Any]:
    return {"spider": spider, "start_urls": [NOWHERE]} | fields


def recipe(**field: str) -> dict[str, Any]:
    fields = {f"f{n}": {"css": "a"} | field for n in range(50)}
    return {"record": "li", "fields": fields}


def nested(levels: int) -> bytes:
    whole = orjson.dumps(crawl("raw", params={"args": {"a": "HERE"}}))
    return whole.replace(b'"HERE"', b"[" * levels + b"]" * levels)


HOSTILE = {
    "patterns": post("/crawl", crawl(params={"recipe": recipe(pattern=SLOW_PATTERN)}), 200),
    "patterns of a site": Request(
        "PUT", "/sites/slow",
        orjson.dumps({"search_url": NOWHERE, "recipe": recipe(pattern=SLOW_PATTERN + "x")}), 201,
    ),
    "patterns of a schedule": post(
        "/schedules",
        {"every_minutes": 60,
         "payload": {"crawl": crawl(params={"recipe": recipe(pattern=SLOW_PATTERN + "y")})}},
        201,
    ),
    "selectors": post(
        "/crawl", crawl(params={"recipe": recipe(css=":is(" * 60 + "a" + ")" * 60)}), 200
    ),
    "templates": Request(
        "PUT", "/sites/long",
        orjson.dumps({"search_url": NOWHERE + "{search_term}" * 300, "recipe": recipe()}), 201,
    ),
    "cron lines": post("/crawl", crawl("raw", interval=",".join(["*/1"] * 40) + " * 29 2 1"), 202),
    "deep JSON": post("/crawl", nested(900), 422),
    "wide JSON": post("/crawl", crawl("raw", params={"args": {"a": [[]] * 190_000}}), 422),
    "many fields": post("/crawl", {f"k{n}": n for n in range(300_000)}, 422),
    "long text": post("/crawl", crawl("raw", name="x" * 60_000_000), 422),
    "NUL after backslashes": post(
        "/crawl", b'{"name":"' + b"\\\\" * 20_000_000 + b'\\u0000"}', 422
    ),
    "hosts of a source": Request(
        "PUT", "/sources/many",
        orjson.dumps({"hosts": [f"h{n}.example.com" for n in range(900)]}), 201,
    ),
    "many start URLs": post(
        "/crawl", crawl("raw", start_urls=URLS, params={"max_pages": len(URLS)}), 200
    ),
    "many URLs": post("/jobs/submit", {"articles": [{"url": url} for url in URLS]}, 201),
    "many bad URLs": post("/jobs/submit", {"articles": [{"url": "x" * 300}] * 100_000}, 422),
    "a plan of many URLs": post(
        "/jobs/submit", {"articles": [{"url": url} for url in URLS], "dry_run": True}, 200
    ),
    "a schedule of many URLs": post(
        "/schedules",
        {"every_minutes": 60,
         "payload": {"articles": {"articles": [{"url": url} for url in URLS[:20_000]]}}},
        201,
    ),
}  # fmt: skip
SOME_START_URLS = post(
    "/crawl", crawl("raw", start_urls=URLS[:60_000], params={"max_pages": 60_000}), 200
)


class Served(NamedTuple):
    """The API on a loop of its own, in another thread than its client."""

    loop: LoopThread
    front: Front
    client: aiohttp.ClientSession

    async def send(self, request: Request) -> None:
        async with self.client.request(
            request.method, self.front.url + request.path, data=BytesIO(request.body),
            headers={"Content-Type": "application/json"},
        ) as response:  # fmt: skip
            assert response.status == request.status, (await response.text())[:500]

    async def longest_turn(self, *requests: Request) -> float:
        """The seconds of the longest turn while these requests are answered at once."""
        return await self.loop.longest_turn(lambda: asyncio.gather(*map(self.send, requests)))


@asynccontextmanager
async def serving(url: str) -> AsyncIterator[Served]:
    async def start() -> tuple[AsyncExitStack, Front]:
        stack = AsyncExitStack()
        store = await stack.enter_async_context(Store(url))
        return stack, await stack.enter_async_context(front(store, engine(store, Clock())))

    gc.collect()
    gc.freeze()  # as every process does at its start, so that the tests' own objects do not count
    with LoopThread() as loop:
        stack, opened = await loop.run(start())
        async with aiohttp.ClientSession() as client:
            served = Served(loop, opened, client)
            await served.send(post("/crawl", crawl("raw"), 200))  # fills caches
            yield served
        await loop.run(stack.aclose())
    gc.unfreeze()


@pytest.fixture
async def served(database_url: str) -> AsyncIterator[Served]:
    async with serving(database_url) as served:
        yield served


async def test_no_request_holds_the_event_loop(served: Served) -> None:
    longest = {name: await served.longest_turn(request) for name, request in HOSTILE.items()}
    print("\n".join(f"{seconds * 1000:7.1f} ms  {name}" for name, seconds in longest.items()))
    assert {name: turn for name, turn in longest.items() if turn > MOST_SECONDS} == {}


async def test_hostile_requests_at_once_hold_it_no_longer(served: Served) -> None:
    names = ("patterns", "selectors", "wide JSON", "long text", "many bad URLs")
    requests = [HOSTILE[name] for name in names]
    assert await served.longest_turn(SOME_START_URLS, *requests) <= MOST_SECONDS


async def _at_once(function: Any, *args: Any, **kwargs: Any) -> Any:
    return function(*args, **kwargs)


@pytest.fixture
async def unguarded(sqlite_url: str) -> AsyncIterator[Served]:
    """Where the engine makes no difference."""
    async with serving(sqlite_url) as served:
        yield served


async def test_bodies_parsed_on_the_loop_hold_it(
    unguarded: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_route, "offload", _at_once)
    assert await unguarded.longest_turn(HOSTILE["long text"]) > MOST_SECONDS


async def test_jobs_checked_on_the_loop_hold_it(
    unguarded: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(submitter, "offload_many", lambda _, f, *a, **k: _at_once(f, *a, **k))
    assert await unguarded.longest_turn(SOME_START_URLS) > MOST_SECONDS


async def test_patterns_compiled_on_the_loop_hold_it(
    unguarded: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def compile_all(params: Any) -> None:
        for pattern in patterns_of(params).values():
            compile_pattern(pattern)

    re.purge()
    monkeypatch.setattr(crawl_route, "check_patterns", compile_all)
    assert await unguarded.longest_turn(HOSTILE["patterns"]) > MOST_SECONDS


async def test_large_transactions_on_the_loop_hold_it(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def on_the_loop(self: Any, transact: Any) -> Any:
        return await transact(self._pool)

    monkeypatch.setattr(postgres.PostgresEngine, "_in_thread", on_the_loop)
    async with serving(postgres_url) as served:
        assert await served.longest_turn(SOME_START_URLS) > MOST_SECONDS
