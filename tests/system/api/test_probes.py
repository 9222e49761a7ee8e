"""`/health/live` and `/health/ready`: whether to start this process again, and whether to send it
requests."""

import asyncpg
import httpx

from api.front import Front, front
from curtsy.api.app import create_app
from curtsy.clock import Clock
from curtsy.store import Store
from curtsy.store.version import newest
from support.engine import engine

SOON, IN_TIME = 0.5, 10.0
KEY = {"Authorization": "Bearer curtsy_1_nothing"}


async def test_a_process_that_works_is_live_and_ready(door: Front) -> None:
    for path in ("/health/live", "/health/ready"):
        assert (await door.get(path)).status == 200
        assert (await door.ask("HEAD", path)).status == 200
    assert (await door.get("/health/ready")).json == {
        "ready": True, "code": "ready", "detail": "The database answers, and its schema fits.",
    }  # fmt: skip


async def test_without_its_database_it_is_live_and_not_ready(postgres_url: str) -> None:
    clock = Clock()
    async with (
        Store(postgres_url, pool_size=4) as store,
        front(store, engine(store, clock)) as door,
    ):
        hanging = await asyncpg.connect(postgres_url)
        await hanging.execute("BEGIN; LOCK TABLE alembic_version, api_keys")
        door.backend.timed.answer_within = SOON
        live = await door.ask("GET", "/health/live", headers=KEY)
        ready = await door.get("/health/ready")
        await hanging.execute("ROLLBACK")
        await hanging.close()
        assert live.status == 200, "no key is looked up"
        assert (ready.status, ready.json["code"]) == (503, "store_away")
        assert ready.seconds < IN_TIME
        assert int(ready.headers["retry-after"]) >= 1
        assert ready.json["detail"].endswith(".")
        assert "alembic" not in ready.json["detail"], "nothing of the database is told"


async def test_with_a_schema_that_it_does_not_know_it_is_not_ready(door: Front) -> None:
    await door.engine.execute("UPDATE alembic_version SET version_num = '9999'")
    found = await door.get("/health/ready")
    await door.engine.execute("DELETE FROM alembic_version")
    none = await door.get("/health/ready")
    known = newest()
    await door.engine.execute("INSERT INTO alembic_version VALUES (:known)", known=known)
    assert (await door.get("/health/ready")).status == 200
    for answer in (found, none):
        assert (answer.status, answer.json["code"]) == (503, "wrong_schema")
        assert "curtsy db check" in answer.json["detail"]
    assert (await door.get("/health/live")).status == 200


async def test_a_process_that_stops_is_not_ready(door: Front) -> None:
    """Requests that came in before are answered, and no connection is accepted any more."""
    app = create_app(door.backend)
    app.state.stopping.set()
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(app), base_url="http://127.0.0.1"
    ) as client:
        ready, live = await client.get("/health/ready"), await client.get("/health/live")
    assert (ready.status_code, ready.json()["code"]) == (503, "stopping")
    assert live.status_code == 200
