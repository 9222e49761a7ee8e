"""A server for the load: ours on a database, or a bare FastAPI app that answers a constant."""

import asyncio
import sys
from typing import Any

import orjson
import uvicorn
import uvloop
from fastapi import FastAPI, Response

from bench.children import contestant
from bench.setting_up import LOOPBACK, opened
from curtsy.api import create_app
from curtsy.api.desk import Desk
from curtsy.submit import SubmitLimits, Submitter
from curtsy.worker import Worker, WorkerSettings

CONSTANT = orjson.dumps({"job_id": "job_000000000000", "status": "IN_PROGRESS", "completed": 7})


def _bare() -> FastAPI:
    app = FastAPI(openapi_url=None)

    @app.get("/constant")
    async def constant() -> Response:
        return Response(CONSTANT, media_type="application/json")

    return app


async def serve(app: FastAPI, port: int) -> None:
    config = uvicorn.Config(
        app, port=port, log_level="error", access_log=False, lifespan="off",
        ws="websockets-sansio", ws_per_message_deflate=False,
    )  # fmt: skip
    server = uvicorn.Server(config)
    running = asyncio.create_task(server.serve())
    await asyncio.to_thread(sys.stdin.buffer.read)
    server.should_exit = True
    await running


async def run(database: str | None, port: int, worker: bool) -> dict[str, Any]:
    if database is None:
        await serve(_bare(), port)
        return {}
    async with opened(database) as (store, clock):
        settings = WorkerSettings(allow=LOOPBACK, obeys_robots=False)
        ours = Worker(store=store, clock=clock, settings=settings,
                      on_told=lambda: desk.feed.wake())  # fmt: skip
        door = Submitter(store=store, clock=clock, limits=SubmitLimits(allow=LOOPBACK),
                         delay_ms=1_000, on_submitted=lambda: on_work())  # fmt: skip

        def on_work() -> None:
            ours.wake()
            desk.feed.wake()

        running = asyncio.create_task(ours.run()) if worker else None
        async with Desk(store=store, clock=clock, submitter=door, on_work=on_work) as desk:
            await serve(create_app(desk), port)
        if running is not None:
            await ours.stop()
            await running
    return {}


def measure(**options: Any) -> dict[str, Any]:
    return uvloop.run(run(**options))


if __name__ == "__main__":
    contestant(measure)
