"""Live streams as clients meet them: nothing missed, nothing twice, an end where there is one."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import aiohttp
import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from api.conftest import Site
from api.front import Front, assert_problem
from curtsy.api.streams import sse, websockets
from curtsy.errors import StoreAway
from curtsy.events import subscription
from curtsy.processes import http_server
from curtsy.processes.websocket_protocol import Socket
from support.patience import PATIENCE

HTML = "text/html"
ARTICLE = b"<html><title>A story</title><body><article>" + b"<p>Once upon a time. </p>" * 20


async def articles(working: Front, *urls: str) -> str:
    body = {"articles": [{"url": url} for url in urls]}
    return str((await working.ask("POST", "/jobs/submit", json=body)).json["job_id"])


def socket_url(door: Front, path: str) -> str:
    return door.url.replace("http://", "ws://") + path


async def messages(socket: ClientConnection, *, until: str = "COMPLETED") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    async with asyncio.timeout(PATIENCE):
        while not found or found[-1]["status"] != until:
            found.append(json.loads(await socket.recv()))
    return found


@asynccontextmanager
async def stream(
    door: Front, path: str, last: str | None = None
) -> AsyncIterator[aiohttp.ClientResponse]:
    headers = {"Last-Event-ID": last} if last else {}
    async with (
        asyncio.timeout(PATIENCE),
        door.session.get(door.url + path, headers=headers) as reply,
    ):
        yield reply


async def followed(door: Front, times: int = 1) -> None:
    """Returns when so many listen."""
    async with asyncio.timeout(PATIENCE):
        while door.backend.feed.followers < times:
            await asyncio.sleep(0.02)


async def sse_events(reply: aiohttp.ClientResponse) -> AsyncIterator[dict[str, str]]:
    """Parsed as the standard says; comments are left out."""
    fields: dict[str, str] = {}
    async for raw in reply.content:
        line = raw.decode().rstrip("\n")
        if not line:
            if "data" in fields:
                yield fields
            fields = {}
        elif not line.startswith(":"):
            name, _, value = line.partition(": ")
            fields[name] = value


async def test_a_job_is_followed_on_a_websocket(working: Front, site: Site) -> None:
    urls = [site.has(f"/{n}", ARTICLE, HTML) for n in range(3)] + [site.fails("/gone", 410)]
    job = await articles(working, *urls)
    async with connect(socket_url(working, f"/ws/jobs/{job}?after=0")) as socket:
        found = await messages(socket)
    assert found[0]["event"] == "state"
    told = found[1:]
    assert [m["seq"] for m in told] == sorted({m["seq"] for m in told})
    assert [m["event"] for m in told][:2] == ["job_queued", "job_started"]
    pages = [m for m in told if m["article_id"]]
    assert [m["completed"] + m["failed"] for m in pages] == [1, 2, 3, 4]
    last = told[-1]
    assert {k: last[k] for k in ("type", "job_id", "article_id", "status")} == {
        "type": "job_update", "job_id": job, "article_id": None, "status": "COMPLETED",
    }  # fmt: skip
    assert (last["completed"], last["failed"], last["total"]) == (3, 1, 4)
    assert all(m["type"] == "job_update" and m["job_id"] == job for m in found)


async def test_without_a_place_it_begins_with_the_state_now(door: Front) -> None:
    job = await articles(door, "http://a.example/1")
    async with connect(socket_url(door, f"/ws/jobs/{job}")) as socket:
        first = json.loads(await socket.recv())
        assert (first["status"], first["completed"], first["total"]) == ("IN_PROGRESS", 0, 1)
        await door.delete(f"/jobs/{job}")
        told = await messages(socket, until="CANCELLED")
    assert [m["event"] for m in told] == ["job_cancelled", "job_finished"]


async def test_a_reader_that_comes_back_misses_nothing(working: Front, site: Site) -> None:
    urls = [site.has(f"/{n}", ARTICLE, HTML) for n in range(12)]
    job = await articles(working, *urls)
    seen: list[int] = []
    last = 0
    while True:
        async with connect(socket_url(working, f"/ws/jobs/{job}?after={last}")) as socket:
            assert json.loads(await socket.recv())["seq"] == last
            for _ in range(3):
                message = json.loads(await socket.recv())
                seen.append(last := message["seq"])
                if message["status"] == "COMPLETED":
                    break
        if message["status"] == "COMPLETED":
            break
    assert seen == list(range(1, 16))


async def test_a_place_beyond_the_end_waits_for_what_comes(door: Front) -> None:
    job = await articles(door, "http://a.example/1", "http://a.example/2")
    async with connect(socket_url(door, f"/ws/jobs/{job}?after=2")) as socket:
        assert json.loads(await socket.recv())["seq"] == 2
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.4):
                await socket.recv()
        await door.ask("POST", f"/jobs/{job}/pause")
        await door.delete(f"/jobs/{job}")
        told = await messages(socket, until="CANCELLED")
    assert [m["seq"] for m in told] == [3, 4]


async def test_all_jobs_are_followed_on_one_socket(door: Front) -> None:
    async with connect(socket_url(door, "/ws")) as socket, asyncio.timeout(PATIENCE):
        state = json.loads(await socket.recv())
        jobs = [await articles(door, f"http://a.example/{n}") for n in range(3)]
        first = [json.loads(await socket.recv()) for _ in jobs]
    assert (state["event"], state["open_jobs"], state["open_jobs_is_capped"]) == ("state", 0, False)
    assert [m["job_id"] for m in first] == jobs
    for after, missed in ((state["seq"], first), (first[0]["seq"], first[1:])):
        url = socket_url(door, f"/ws?after={after}")
        async with connect(url) as socket, asyncio.timeout(PATIENCE):
            begins = json.loads(await socket.recv())
            assert (begins["event"], begins["seq"]) == ("state", after)
            assert begins["open_jobs"] == 3
            assert [json.loads(await socket.recv()) for _ in missed] == missed


async def test_one_who_is_cut_off_before_the_first_event_misses_nothing(door: Front) -> None:
    await articles(door, "http://a.example/0")
    async with connect(socket_url(door, "/ws")) as socket:
        place = json.loads(await socket.recv())["seq"]
    async with stream(door, "/events") as reply:
        begins = await reply.content.readuntil(b"\n\n"), await reply.content.readuntil(b"\n\n")
    assert begins[1] == f"id: {place}\n\n".encode()
    job = await articles(door, "http://a.example/1")
    async with connect(socket_url(door, f"/ws?after={place}")) as socket, asyncio.timeout(PATIENCE):
        told = [json.loads(await socket.recv()) for _ in range(2)]
    assert [m["event"] for m in told] == ["state", "job_queued"]
    async with stream(door, "/events", place) as reply:
        assert json.loads((await anext(sse_events(reply)))["data"]) == told[1]
    assert told[1]["job_id"] == job


@pytest.mark.parametrize(
    ("path", "code"),
    [("/ws/jobs/job_000000000000", 4404), ("/ws/jobs/{job}?after=x", 4422), ("/ws?after=1", 4422)],
)
async def test_what_cannot_be_followed_is_refused_with_a_reason(
    plain_door: Front, path: str, code: int
) -> None:
    job = await articles(plain_door, "http://a.example/1")
    async with connect(socket_url(plain_door, path.format(job=job))) as socket:
        with pytest.raises(ConnectionClosed) as closed:
            await socket.recv()
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == code
    assert closed.value.rcvd.reason


@pytest.mark.parametrize("name", ["a%20b", "x" * 5_000, "x" * 100, "%F0%9F%92%A9" * 40, "a%22b"])
async def test_what_cannot_be_the_name_of_a_job_is_refused_with_a_reason(
    door: Front, name: str
) -> None:
    """Also where the reason would be longer than a goodbye may be."""
    async with connect(socket_url(door, f"/ws/jobs/{name}")) as socket, asyncio.timeout(PATIENCE):
        with pytest.raises(ConnectionClosed) as closed:
            await socket.recv()
    assert closed.value.rcvd is not None
    assert (closed.value.rcvd.code, closed.value.rcvd.reason[:15]) == (4404, "There is no job")


@pytest.mark.parametrize(
    ("path", "status"), [("/ws/jobs/%00", 404), ("/ws?after=%00", 422), ("/ws/jobs/a%00b", 404)]
)
async def test_a_nul_in_a_sockets_address_is_refused_before_anything_is_read(
    door: Front, path: str, status: int
) -> None:
    with pytest.raises(InvalidStatus) as refused:
        await connect(socket_url(door, path))
    assert refused.value.response.status_code == status


async def test_a_log_reads_like_that_of_a_crawler(working: Front, site: Site) -> None:
    page, gone = site.has("/story", ARTICLE, HTML), site.fails("/gone", 410)
    job = await articles(working, page, gone)
    async with stream(working, f"/jobs/{job}/logs") as reply:
        assert reply.headers["Content-Type"].startswith("text/event-stream")
        events = [event async for event in sse_events(reply)]
    assert [e["event"] for e in events[:-1]] == ["log"] * (len(events) - 1)
    assert events[-1]["event"] == "end"
    assert json.loads(events[-1]["data"]) == {"status": "COMPLETED", "spider_job_id": job}
    lines = [json.loads(e["data"]) for e in events[:-1]]
    assert all(line.keys() == {"ts", "level", "msg"} for line in lines)
    text = "\n".join(f"{line['level']} {line['msg']}" for line in lines)
    assert text.startswith("INFO Queued: 2 pages, 0 of them from the cache\nINFO Started\n")
    assert f"INFO Fetched {page} (200, " in text
    assert "INFO Extracted article of " in text
    assert f"ERROR Failed: {gone}: " in text
    assert text.endswith("INFO Done: failed, 1 fetched, 1 failed, 0 cancelled")
    assert len({e["id"] for e in events}) == len(events)


async def test_a_log_goes_on_behind_any_of_its_lines(working: Front, site: Site) -> None:
    job = await articles(working, *(site.has(f"/{n}", ARTICLE, HTML) for n in range(2)))
    async with stream(working, f"/jobs/{job}/logs") as reply:
        whole = [event async for event in sse_events(reply)]
    for read, event in enumerate(whole[:-1], 1):
        async with stream(working, f"/jobs/{job}/logs", event["id"]) as reply:
            assert [e async for e in sse_events(reply)] == whole[read:]


async def test_one_who_has_read_a_log_to_its_end_is_told_not_to_come_back(
    working: Front, site: Site
) -> None:
    job = await articles(working, site.has("/0", ARTICLE, HTML))
    async with stream(working, f"/jobs/{job}/logs") as reply:
        *_rest, end = [event async for event in sse_events(reply)]
    async with stream(working, f"/jobs/{job}/logs", end["id"]) as reply:
        assert reply.status == 204


@pytest.mark.parametrize("path", ["/events", "/jobs/{job}/logs"])
async def test_a_malformed_id_is_refused(plain_door: Front, path: str) -> None:
    job = await articles(plain_door, "http://a.example/1")
    answer = await plain_door.ask(
        "GET", path.format(job=job), headers={"Last-Event-ID": "yesterday"}
    )
    assert_problem(answer, 422, "bad_request")


async def test_the_log_of_an_unknown_job_is_not_found(plain_door: Front) -> None:
    assert_problem(await plain_door.get("/jobs/job_000000000000/logs"), 404, "not_found")


async def test_all_events_are_followed_by_one_stream(door: Front) -> None:
    async with stream(door, "/events") as reply:
        events = sse_events(reply)
        job = await articles(door, "http://a.example/1")
        await door.delete(f"/jobs/{job}")
        found = [await anext(events) for _ in range(3)]
    assert [json.loads(e["data"])["event"] for e in found] == [
        "job_queued", "job_cancelled", "job_finished",
    ]  # fmt: skip
    async with stream(door, "/events", found[0]["id"]) as reply:
        again = sse_events(reply)
        assert [await anext(again) for _ in range(2)] == found[1:]


async def test_a_quiet_stream_says_that_it_lives(
    plain_door: Front, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sse, "KEEP_ALIVE_SECONDS", 0.05)
    job = await articles(plain_door, "http://a.example/1")
    async with stream(plain_door, f"/jobs/{job}/logs") as reply:
        comments = 0
        async for line in reply.content:
            comments += line.startswith(b":")
            if comments == 4:
                break


async def test_streams_that_were_left_leave_nothing_behind(plain_door: Front) -> None:
    job = await articles(plain_door, "http://a.example/1")
    app_feed = plain_door.backend.feed
    async with (
        stream(plain_door, f"/jobs/{job}/logs") as log,
        stream(plain_door, "/events") as events,
        connect(socket_url(plain_door, f"/ws/jobs/{job}")) as socket,
    ):
        await log.content.readline()
        await events.content.readline()
        await socket.recv()
        await followed(plain_door, 3)
    async with asyncio.timeout(PATIENCE):
        while app_feed.followers:
            await asyncio.sleep(0.02)


MANY_EVENTS = """
    INSERT INTO events (job_id, n, at, name, page_id, data)
    WITH RECURSIVE n(n) AS (SELECT 2 UNION ALL SELECT n + 1 FROM n WHERE n < 20001)
    SELECT j.id, n.n, 1, 'page_fetched', 1, :data FROM n JOIN jobs j ON j.public_id = :job
"""


async def test_a_slow_client_is_let_go_and_not_waited_for(
    plain_door: Front, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It reads nothing; what waits for it is bounded, and others hear everything."""
    monkeypatch.setattr(subscription, "MOST_WAITING", 5)
    monkeypatch.setattr(websockets, "SEND_WITHIN_SECONDS", 5)
    job = await articles(plain_door, "http://a.example/1")
    url = socket_url(plain_door, f"/ws/jobs/{job}")
    async with connect(url, max_queue=1) as slow, connect(url, max_queue=None) as quick:
        slow.transport.pause_reading()
        data = {"url": "x" * 2_000, "ms": 1, "status": 200, "job": ["running", 0, 0, 0, 1]}
        tell = plain_door.engine.execute
        await tell(MANY_EVENTS, job=job, data=json.dumps(data))
        await tell("UPDATE jobs SET last_event = 20001 WHERE public_id = :job", job=job)
        async with asyncio.timeout(90):
            heard = [json.loads(await quick.recv())["seq"] for _ in range(20_001)]
        assert heard == list(range(1, 20_002))
        async with asyncio.timeout(PATIENCE):
            while plain_door.backend.feed.followers > 1:
                await asyncio.sleep(0.02)
        slow.transport.resume_reading()
        with pytest.raises(ConnectionClosed) as closed:
            await _count(slow, until=20_001)
    assert closed.value.rcvd is not None
    assert (closed.value.rcvd.code, closed.value.rcvd.reason[:9]) == (1013, "Too slow:")


async def test_one_who_collects_nothing_at_all_is_hung_up_on(
    plain_door: Front, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last word to it is never read: nothing is kept for it for ever."""
    monkeypatch.setattr(websockets, "SEND_WITHIN_SECONDS", 0.5)
    monkeypatch.setattr(http_server, "STALL_SECONDS", 1.0)
    lost, lose = asyncio.Event(), Socket.connection_lost

    def connection_lost(self: Socket, why: Exception | None) -> None:
        lose(self, why)
        lost.set()

    monkeypatch.setattr(Socket, "connection_lost", connection_lost)
    job = await articles(plain_door, "http://a.example/1")
    url = socket_url(plain_door, f"/ws/jobs/{job}")
    async with connect(url, close_timeout=0.1, ping_interval=None) as deaf:
        deaf.transport.pause_reading()
        data = {"url": "x" * 2_000, "ms": 1, "status": 200, "job": ["running", 0, 0, 0, 1]}
        await plain_door.engine.execute(MANY_EVENTS, job=job, data=json.dumps(data))
        last = "UPDATE jobs SET last_event = 20001 WHERE public_id = :job"
        await plain_door.engine.execute(last, job=job)
        async with asyncio.timeout(PATIENCE):
            await lost.wait()


async def _count(socket: ClientConnection, *, until: int) -> int:
    heard = 0
    while heard < until:
        await socket.recv()
        heard += 1
    return heard


async def test_a_log_and_all_events_are_read_a_page_at_a_time_too(
    working: Front, site: Site
) -> None:
    as_json = {"Accept": "application/json"}
    begin = (await working.ask("GET", "/events", headers=as_json)).json
    assert begin["events"] == []
    job = await articles(working, site.has("/story", ARTICLE, HTML))
    await working.engine.ended(job)
    log = (await working.ask("GET", f"/jobs/{job}/logs", headers=as_json)).json
    assert log["ended"]
    assert log["lines"][0]["msg"].startswith("Queued: 1 page")
    assert log["lines"][-1]["msg"].startswith("Done: succeeded")
    for behind, lines in (("3.1", log["lines"][3:]), ("3", log["lines"][4:]), (log["last"], [])):
        since = as_json | {"Last-Event-ID": behind}
        rest = (await working.ask("GET", f"/jobs/{job}/logs", headers=since)).json
        assert (rest["lines"], rest["ended"], rest["last"]) == (lines, True, log["last"]), behind
    since = as_json | {"Last-Event-ID": begin["last"]}
    events = (await working.ask("GET", "/events", headers=since)).json
    assert [event["event"] for event in events["events"]] == [
        "job_queued", "job_started", "page_fetched", "job_finished",
    ]  # fmt: skip


async def test_a_store_that_is_away_ends_a_stream_without_a_noise(
    plain_door: Front, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The client comes back where it was; the log is not filled with tracebacks."""
    job = await articles(plain_door, "http://a.example/1")

    async def away(*_given: Any) -> Any:
        raise StoreAway("it is gone")

    monkeypatch.setattr(plain_door.backend.feed, "_store", SimpleNamespace(read=away))
    async with stream(plain_door, f"/jobs/{job}/logs") as reply:
        assert [event async for event in sse_events(reply)] == []
    async with connect(socket_url(plain_door, f"/ws/jobs/{job}")) as socket:
        assert json.loads(await socket.recv())["event"] == "state"
        with pytest.raises(ConnectionClosed) as closed:
            await socket.recv()
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 1001
    assert "request_failed" not in capsys.readouterr().err
