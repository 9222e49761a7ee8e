"""The API as a client meets it: a real server on loopback, and a real HTTP client."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import aiohttp

from curtsy.api.auth.access_rules import AccessRules
from curtsy.api.backend import Backend
from curtsy.config import load
from curtsy.jobs import SubmitLimits, Submitter
from curtsy.processes.http_server import Api, listen
from curtsy.store import Store
from support.engine import LOOPBACK, Engine, until
from support.schedules import scheduler


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    json: Any
    seconds: float


@dataclass
class Front:
    url: str
    session: aiohttp.ClientSession
    engine: Engine
    backend: Backend

    async def ask(self, method: str, path: str, **options: Any) -> Answer:
        began = time.monotonic()
        async with self.session.request(
            method, self.url + path, allow_redirects=False, **options
        ) as response:
            body = await response.json(content_type=None)
            headers = {name.lower(): value for name, value in response.headers.items()}
            return Answer(response.status, headers, body, time.monotonic() - began)

    def sync_timeout(self, seconds: float) -> None:
        settings = replace(self.backend.settings, sync_timeout=seconds)
        self.backend.settings = settings

    async def get(self, path: str) -> Answer:
        return await self.ask("GET", path)

    async def submit(self, url: str, *, key: str | None = None, **fields: Any) -> Answer:
        headers = {"Idempotency-Key": key} if key else {}
        return await self.ask("POST", "/jobs", json={"url": url, **fields}, headers=headers)

    async def delete(self, path: str) -> Answer:
        return await self.ask("DELETE", path)

    async def ended(self, job: str) -> Any:
        """The job as the door shows it, once it waits no more."""

        async def over() -> bool:
            return bool((await self.get(f"/jobs/{job}")).json["status"] != "queued")

        await until(over, 20, lambda: f"{job} has not ended")
        return (await self.get(f"/jobs/{job}")).json


@asynccontextmanager
async def front(
    store: Store,
    engine: Engine,
    limits: SubmitLimits | None = None,
    access_rules: AccessRules | None = None,
) -> AsyncIterator[Front]:
    submitter = Submitter(
        store=store,
        clock=engine.clock,
        limits=limits or SubmitLimits(allow=LOOPBACK),
        delay_ms=20,
        on_submitted=lambda: engine.submitter._on_submitted(),
    )
    backend = Backend(
        store=store,
        clock=engine.clock,
        submitter=submitter,
        scheduler=scheduler(store, engine.clock, submitter),
        on_work=lambda: engine.submitter._on_submitted(),
    )
    listening = listen(load(api_port=0))
    api = Api(backend, listening, access_rules)
    running = asyncio.create_task(api.run())
    host, port = listening.getsockname()
    try:
        async with backend, aiohttp.ClientSession() as session:
            yield Front(f"http://{host}:{port}", session, engine, backend)
    finally:
        await api.stop()
        await running


def assert_problem(answer: Answer, status: int, code: str) -> None:
    assert answer.status == status, answer
    assert answer.headers["content-type"] == "application/problem+json"
    assert {"type", "title", "status", "detail", "code"} <= answer.json.keys()
    assert (answer.json["status"], answer.json["code"]) == (status, code)
    assert isinstance(answer.json["detail"], str)
    assert answer.json["detail"].endswith(".")
