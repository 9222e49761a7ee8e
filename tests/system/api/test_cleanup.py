"""A cleanup through the API: it is started, watched, and holds up nobody."""

import asyncio
from typing import Any

import pytest

from api.front import Front, assert_problem, front
from curtsy.api import cleanup_backend
from curtsy.clock import Clock
from curtsy.errors import StoreAway
from curtsy.store import Store
from support.engine import engine, until

PAGE = "http://example.com/"


@pytest.fixture
async def door(store: Store, clock: Clock) -> Any:
    async with front(store, engine(store, clock)) as opened:
        yield opened


async def an_old_job(door: Front, *, days: int) -> str:
    job: str = (await door.submit(f"{PAGE}{days}")).json["id"]
    await door.delete(f"/jobs/{job}")
    at = door.engine.clock.now() - days * 86_400_000
    await door.engine.execute(
        "UPDATE jobs SET created_at = :at, finished_at = :at WHERE public_id = :job", at=at, job=job
    )
    return job


async def test_a_short_one_is_answered_with_its_result(door: Front) -> None:
    await an_old_job(door, days=31)
    young = await an_old_job(door, days=29)
    assert (await door.get("/cleanup")).json["state"] == "idle"
    answer = await door.ask("POST", "/cleanup", json={})
    assert answer.status == 200, answer
    assert (answer.json["state"], answer.json["days"]) == ("done", 30)
    assert answer.json["deleted"]["jobs"] == 1
    assert answer.json["message"].startswith("Deleted 1 job older than 30 days")
    assert [job["id"] for job in (await door.get("/jobs")).json["jobs"]] == [young]
    assert (await door.get("/cleanup")).json == answer.json
    fewer = await door.ask("POST", "/cleanup", json={"days": 28})
    assert fewer.json["message"].startswith("Deleted 1 job older than 28 days")


async def test_a_long_one_goes_on_behind_its_request_and_alone(
    door: Front, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cleanup_backend, "SECONDS_FOR_A_SHORT_ONE", 0.01)
    go_on = asyncio.Event()

    async def slowly(_days: int) -> str:
        await go_on.wait()
        return "Done at last."

    monkeypatch.setattr(door.backend.cleanup._cleanup, "run", slowly)
    answer = await door.ask("POST", "/cleanup", json={"days": 3})
    assert (answer.status, answer.json["state"], answer.json["days"]) == (202, "running", 3)
    assert_problem(await door.ask("POST", "/cleanup", json={}), 409, "wrong_state")
    assert (await door.get("/cleanup")).json["state"] == "running"
    go_on.set()

    async def over() -> bool:
        return bool((await door.get("/cleanup")).json["state"] == "done")

    await until(over, 10, lambda: "it runs on")
    assert (await door.get("/cleanup")).json["message"] == "Done at last."


@pytest.mark.parametrize(
    ("error", "told"),
    [(StoreAway("it does not answer"), "start it again"), (ValueError("x"), "The log")],
)
async def test_one_that_fails_says_so_and_another_can_be_started(
    door: Front, monkeypatch: pytest.MonkeyPatch, error: Exception, told: str
) -> None:
    async def fail(_days: int) -> str:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(door.backend.cleanup._cleanup, "run", fail)
        answer = await door.ask("POST", "/cleanup", json={})
    assert (answer.status, answer.json["state"]) == (200, "failed")
    assert told in answer.json["message"]
    assert (await door.ask("POST", "/cleanup", json={})).json["state"] == "done"


@pytest.mark.parametrize("body", [{"days": 0}, {"days": 10**9}, {"days": "3"}, {"day": 3}, []])
async def test_a_wrong_body_deletes_nothing(door: Front, body: Any) -> None:
    assert (await door.ask("POST", "/cleanup", json=body)).status == 422
    assert (await door.get("/cleanup")).json["state"] == "idle"
