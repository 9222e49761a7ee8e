"""A server for the load: ours on a database, or a bare FastAPI app that answers a constant."""

import asyncio
import socket
import sys
from typing import Any

import orjson
import uvicorn
import uvloop
from fastapi import FastAPI, Response

from bench.children import contestant
from bench.setting_up import LOOPBACK, opened
from curtsy.api.auth.access_rules import AccessRules
from curtsy.api.backend import Backend
from curtsy.clock import DAY, HOUR
from curtsy.jobs import SubmitLimits, Submitter
from curtsy.maintenance.tasks import MaintenanceTasks
from curtsy.politeness.policy import Policy
from curtsy.processes.builders import build_scheduler
from curtsy.processes.http_server import Api
from curtsy.requests.payloads import PayloadParser
from curtsy.worker import Worker, WorkerSettings

CONSTANT = orjson.dumps({"job_id": "job_000000000000", "status": "IN_PROGRESS", "completed": 7})
AT_ONCE_WITHOUT_DELAY = 8


def _bare() -> FastAPI:
    app = FastAPI(openapi_url=None)

    @app.get("/constant")
    async def constant() -> Response:
        return Response(CONSTANT, media_type="application/json")

    return app


async def _until_told() -> None:
    await asyncio.to_thread(sys.stdin.buffer.read)


async def _serve_bare(port: int) -> None:
    server = uvicorn.Server(
        uvicorn.Config(_bare(), port=port, log_level="error", access_log=False, lifespan="off")
    )
    running = asyncio.create_task(server.serve())
    await _until_told()
    server.should_exit = True
    await running


async def _serve(backend: Backend, port: int) -> None:
    """As `curtsy up` does."""
    with socket.create_server(("127.0.0.1", port), backlog=2048) as listening:
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        api = Api(backend, listening, AccessRules(streams_per_key=100_000))
        running = asyncio.create_task(api.run())
        await _until_told()
        await api.stop()
        await running


def _settings(delay_ms: int) -> WorkerSettings:
    at_once = 1 if delay_ms else AT_ONCE_WITHOUT_DELAY
    policy = Policy(min_delay=delay_ms, concurrency=at_once, robots=False)
    return WorkerSettings(policy=policy, allow=LOOPBACK)


async def run(database: str | None, port: int, worker: bool, delay_ms: int) -> dict[str, Any]:
    if database is None:
        await _serve_bare(port)
        return {}
    async with opened(database) as (store, clock):
        ours = Worker(store=store, clock=clock, settings=_settings(delay_ms),
                      on_commit=lambda: backend.feed.wake())  # fmt: skip
        door = Submitter(store=store, clock=clock, limits=SubmitLimits(allow=LOOPBACK),
                         delay_ms=delay_ms, on_submitted=lambda: on_work())  # fmt: skip

        def on_work() -> None:
            ours.wake()
            backend.feed.wake()

        running = asyncio.create_task(ours.run()) if worker else None
        scheduler = build_scheduler(
            store=store, clock=clock, submitter=door, policy=Policy(), on_work=on_work,
            payloads=PayloadParser(page_max_age=30 * DAY, crawl_cache_ttl=HOUR),
            maintenance=MaintenanceTasks(store=store, clock=clock, keep_days=30),
        )  # fmt: skip
        async with Backend(store=store, clock=clock, submitter=door, scheduler=scheduler,
                           on_work=on_work) as backend:  # fmt: skip
            await _serve(backend, port)
        if running is not None:
            await ours.stop()
            await running
    return {}


def measure(**options: Any) -> dict[str, Any]:
    return uvloop.run(run(**options))


if __name__ == "__main__":
    contestant(measure)
