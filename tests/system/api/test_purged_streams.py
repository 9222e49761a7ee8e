"""Who follows a job that is purged is told so, and does not wait for ever."""

import asyncio
import json
from typing import Any

import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from api.front import Front
from api.test_streams import articles, socket_url, sse_events, stream
from api.visitors import visitor
from curtsy import periodic
from curtsy.errors import StoreAway
from curtsy.events import feed
from curtsy.jobs import purge_some
from support.patience import PATIENCE

PAGE, OTHER = "http://a.example/1", "http://a.example/2"


async def purge_elsewhere(door: Front, job: str) -> None:
    """As another process would: nobody here is told."""
    await door.engine.store.write(lambda c: purge_some(c, job))


async def heard_to_the_end(socket: ClientConnection) -> list[dict[str, Any]]:
    """All messages; the socket has to be closed from the other side."""
    found = []
    try:
        while True:
            found.append(json.loads(await socket.recv()))
    except ConnectionClosed:
        return found


async def none_follow(door: Front, number: int = 0) -> None:
    async with asyncio.timeout(PATIENCE):
        while door.backend.feed.followers > number:
            await asyncio.sleep(0.02)


async def test_a_websocket_on_a_purged_job_is_closed_with_a_reason(door: Front) -> None:
    job, other = await articles(door, PAGE), await articles(door, OTHER)
    async with (
        asyncio.timeout(PATIENCE),
        connect(socket_url(door, f"/ws/jobs/{job}")) as socket,
        connect(socket_url(door, f"/ws/jobs/{other}")) as open_still,
    ):
        await open_still.recv()
        await purge_elsewhere(door, job)
        assert [m["event"] for m in await heard_to_the_end(socket)] == ["state"]
        assert (socket.close_code, socket.close_reason) == (4404, "The job was purged.")
        await none_follow(door, 1)
        await door.delete(f"/jobs/{other}")
        assert json.loads(await open_still.recv())["event"] == "job_cancelled"


async def test_a_log_of_a_purged_job_has_an_end(door: Front) -> None:
    job = await articles(door, PAGE)
    async with stream(door, f"/jobs/{job}/logs") as reply:
        events = sse_events(reply)
        assert "Queued" in (await anext(events))["data"]
        await purge_elsewhere(door, job)
        [end] = [event async for event in events]
    assert end["event"] == "end"
    assert json.loads(end["data"]) == {"status": "PURGED", "spider_job_id": job}
    assert end["id"].endswith(".end")
    await none_follow(door)


async def test_a_job_purged_while_it_runs_ends_its_streams(door: Front) -> None:
    """It is cancelled first: who is quick enough hears that, too. Either way there is one end."""
    job = await articles(door, PAGE)
    async with (
        connect(socket_url(door, f"/ws/jobs/{job}")) as socket,
        stream(door, f"/jobs/{job}/logs") as reply,
    ):
        await socket.recv()
        answer = await door.ask("DELETE", f"/jobs/{job}?purge=true")
        assert answer.json["status"] == "PURGED"
        await heard_to_the_end(socket)
        assert socket.close_code == 4404
        events = [event async for event in sse_events(reply)]
    ends = [json.loads(e["data"])["status"] for e in events if e["event"] == "end"]
    assert ends in (["PURGED"], ["CANCELLED"])
    await none_follow(door)


async def test_a_job_that_ended_and_is_purged_before_its_end_was_told(
    plain_door: Front, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its last event was read, and then it was not there any more to ask for others."""
    job = await articles(plain_door, PAGE)
    async with stream(plain_door, f"/jobs/{job}/logs") as reply:
        events = sse_events(reply)
        await anext(events)
        known = plain_door.backend.job

        async def purged_by_now(asked: str) -> Any:
            await purge_elsewhere(plain_door, asked)
            return await known(asked)

        await plain_door.backend.cancel(job)
        monkeypatch.setattr(plain_door.backend, "job", purged_by_now)
        *_lines, end = [event async for event in events]
    assert json.loads(end["data"]) == {"status": "CANCELLED", "spider_job_id": job}


async def test_a_store_that_is_away_purges_nothing(
    plain_door: Front, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No answer is not the answer that the job is gone."""
    job = await articles(plain_door, PAGE)
    known, asked = feed.read_news, 0

    def read_news(*given: Any, **more: Any) -> Any:
        nonlocal asked
        asked += 1
        if asked < 3:
            raise StoreAway("it rests")
        return known(*given, **more)

    monkeypatch.setattr(feed, "read_news", read_news)
    monkeypatch.setattr(periodic, "AFTER_FAILURE_SECONDS", 0.01)
    async with (
        asyncio.timeout(PATIENCE),
        connect(socket_url(plain_door, f"/ws/jobs/{job}")) as socket,
    ):
        await socket.recv()
        while asked < 4:
            await asyncio.sleep(0.02)
        assert plain_door.backend.feed.followers == 1
        await purge_elsewhere(plain_door, job)
        assert await heard_to_the_end(socket) == []
        assert socket.close_code == 4404


async def test_who_follows_a_purged_job_hears_nothing_of_the_next(door: Front) -> None:
    """Not even when the next is given all that the first had within the store."""
    ann, bob = await visitor(door), await visitor(door, "bob")
    job = await ann.job(PAGE)
    url = socket_url(door, f"/ws/jobs/{job}")
    async with (
        asyncio.timeout(PATIENCE),
        connect(url, additional_headers=ann.headers) as socket,
        door.session.get(f"{door.url}/jobs/{job}/logs", headers=ann.headers) as reply,
    ):
        await socket.recv()
        events = sse_events(reply)
        await anext(events)
        [old] = await door.engine.query("SELECT id FROM jobs WHERE public_id = :job", job=job)
        await purge_elsewhere(door, job)
        other = await bob.job(OTHER)
        given = "UPDATE {} SET {} = :old WHERE {} = (SELECT id FROM jobs WHERE public_id = :job)"
        await door.engine.execute(given.format("events", "job_id", "job_id"), old=old.id, job=other)
        await door.engine.execute(
            "UPDATE jobs SET id = :old, last_event = 2 WHERE public_id = :job",
            old=old.id, job=other,
        )  # fmt: skip
        await door.engine.execute("UPDATE events SET n = 2 WHERE job_id = :old", old=old.id)
        assert await heard_to_the_end(socket) == []
        assert socket.close_code == 4404
        assert [json.loads(e["data"])["status"] async for e in events] == ["PURGED"]
