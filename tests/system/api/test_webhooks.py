"""Webhooks: told of every end of a job, signed, tried again, and never where they must not go."""

import asyncio
import hashlib
import hmac
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from aiohttp import web

from api.conftest import Site
from api.front import Front, assert_problem
from api.test_sites import declare, ended, scrape
from api.visitors import Visitor, visitor
from curtsy.demo.practice_site import PracticeSite
from curtsy.events import delivery_attempts, webhooks
from curtsy.worker import webhook_sender
from curtsy.worker.webhook_sender import AT_ONE_RECEIVER
from support.engine import until

HTML = "text/html"


@dataclass
class Receiver:
    url: str = ""
    says: web.Response | None = None
    """Instead of a status alone."""
    answers: list[int] = field(default_factory=list)
    """The statuses of the first answers; then 200."""
    held: asyncio.Event | None = None
    """Answers nobody until it is set."""
    under_way: int = 0
    most_under_way: int = 0
    heard: list[tuple[dict[str, str], bytes]] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    async def answer(self, request: web.Request) -> web.Response:
        self.asked.append(request.rel_url.raw_path_qs)
        self.heard.append((dict(request.headers), await request.read()))
        if self.held is not None:
            self.under_way += 1
            self.most_under_way = max(self.most_under_way, self.under_way)
            await self.held.wait()
            self.under_way -= 1
        if self.says is not None:
            return self.says
        status = self.answers.pop(0) if self.answers else 200
        headers = {"Location": self.url} if status == 302 else {}
        return web.Response(status=status, headers=headers)

    async def has_heard(self, times: int) -> None:
        async def enough() -> bool:
            return len(self.heard) >= times

        await until(enough, 20, lambda: f"heard {len(self.heard)} times")


@asynccontextmanager
async def listening() -> AsyncIterator[Receiver]:
    listens = Receiver()
    app = web.Application()
    app.router.add_post("/hook", listens.answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await (place := web.TCPSite(runner, "127.0.0.1", 0)).start()
    assert place
    listens.url = f"http://127.0.0.1:{runner.addresses[0][1]}/hook"
    try:
        yield listens
    finally:
        await runner.cleanup()


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with listening() as listens:
        yield listens


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivery_attempts, "FIRST_WAIT", 50)
    monkeypatch.setattr(webhook_sender, "POLL_SECONDS", 0.05)


async def submit(door: Front, *urls: str, hook: str) -> Any:
    body = {"articles": [{"url": url} for url in urls], "webhook_url": hook}
    return await door.ask("POST", "/jobs/submit", json=body)


async def deliveries(door: Front, job: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await door.get(f"/jobs/{job}/webhooks")).json["deliveries"]
    return found


async def until_ended(door: Front, job: str) -> list[dict[str, Any]]:
    async def over() -> bool:
        found = await deliveries(door, job)
        return bool(found) and all(d["state"] != "waiting" for d in found)

    await until(over, 20, lambda: "the delivery has not ended")
    return await deliveries(door, job)


async def test_the_end_of_a_job_is_told_and_signed(
    working: Front, site: Site, receiver: Receiver
) -> None:
    job = (await submit(working, site.fails("/gone", 410), hook=receiver.url)).json["job_id"]
    await receiver.has_heard(1)
    [(headers, body)] = receiver.heard
    told = json.loads(body)
    assert {k: told[k] for k in ("type", "job_id", "state", "total", "completed", "failed")} == {
        "type": "job_finished", "job_id": job, "state": "failed", "total": 1, "completed": 0,
        "failed": 1,
    }  # fmt: skip
    secret = (await working.get("/webhooks/secret")).json["secret"]
    at, signed = (part.partition("=")[2] for part in headers["Curtsy-Signature"].split(","))
    expected = hmac.new(secret.encode(), f"{at}.".encode() + body, hashlib.sha256).hexdigest()
    assert hmac.compare_digest(signed, expected)
    [delivery] = await until_ended(working, job)
    assert (delivery["state"], delivery["status"], delivery["attempts"]) == ("delivered", 200, 1)
    assert headers["Curtsy-Delivery"] == str(delivery["id"])


async def test_a_receiver_in_trouble_is_told_again(
    working: Front, site: Site, receiver: Receiver
) -> None:
    receiver.answers = [500, 302, 503]
    page = site.has("/a", b"<p>words</p>", HTML)
    job = (await submit(working, page, hook=receiver.url)).json["job_id"]
    await receiver.has_heard(4)
    [delivery] = await until_ended(working, job)
    assert (delivery["state"], delivery["attempts"]) == ("delivered", 4)
    assert len({body for _headers, body in receiver.heard}) == 1


@pytest.mark.parametrize(
    "says",
    [
        lambda: web.Response(status=202, body=b"x" * 100_000),
        lambda: web.Response(status=202, body=b"words", headers={"Content-Encoding": "br"}),
    ],
    ids=["large", "unreadable"],
)
async def test_what_a_receiver_says_beside_its_status_does_not_matter(
    working: Front, site: Site, receiver: Receiver, says: Callable[[], web.Response]
) -> None:
    receiver.says = says()
    job = (await submit(working, site.fails("/a", 410), hook=receiver.url)).json["job_id"]
    [delivery] = await until_ended(working, job)
    assert (delivery["state"], delivery["status"], delivery["attempts"]) == ("delivered", 202, 1)
    assert len(receiver.heard) == 1


async def test_a_receiver_that_is_gone_is_told_no_more_until_asked(
    working: Front, site: Site, receiver: Receiver
) -> None:
    receiver.answers = [410]
    job = (await submit(working, site.fails("/a", 410), hook=receiver.url)).json["job_id"]
    [delivery] = await until_ended(working, job)
    assert (delivery["state"], delivery["error"]) == ("failed", "The receiver answered 410.")
    path = f"/jobs/{job}/webhooks/{delivery['id']}/replay"
    assert (await working.ask("POST", path)).status == 202
    [again] = await until_ended(working, job)
    assert again["state"] == "delivered"
    assert_problem(await working.ask("POST", f"/jobs/{job}/webhooks/999/replay"), 404, "not_found")


async def test_replays_count_as_attempts_and_come_to_an_end(
    working: Front, site: Site, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivery_attempts, "MOST_ATTEMPTS", 2)
    monkeypatch.setattr(webhooks, "MOST_WITH_REPLAYS", 4)
    receiver.answers = [500] * 10
    job = (await submit(working, site.fails("/a", 410), hook=receiver.url)).json["job_id"]
    [delivery] = await until_ended(working, job)
    path = f"/jobs/{job}/webhooks/{delivery['id']}/replay"
    for attempts in (2, 3):
        [delivery] = await until_ended(working, job)
        assert (delivery["state"], delivery["attempts"]) == ("failed", attempts)
        assert (await working.ask("POST", path)).status == 202
    [delivery] = await until_ended(working, job)
    assert (delivery["attempts"], len(receiver.heard)) == (4, 4), "each replay is one request"
    refused = await working.ask("POST", path)
    assert_problem(refused, 409, "wrong_state")
    assert "after 4 attempts" in refused.json["detail"]
    assert await until_ended(working, job) == [delivery], "nothing has changed"


async def test_a_replay_spends_a_page_of_the_quota(
    working: Front, site: Site, receiver: Receiver
) -> None:
    ann = await visitor(working, pages_per_hour=3)
    body = {"articles": [{"url": site.fails("/a", 410)}], "webhook_url": receiver.url}
    job = (await ann.ask("POST", "/jobs/submit", json=body)).json["job_id"]
    for heard in (1, 2, 3):
        await receiver.has_heard(heard)
        await until_delivered(ann, job)
        [delivery] = (await ann.get(f"/jobs/{job}/webhooks")).json["deliveries"]
        replayed = await ann.ask("POST", f"/jobs/{job}/webhooks/{delivery['id']}/replay")
        assert replayed.status == (202 if heard < 3 else 429), replayed
    assert_problem(replayed, 429, "over_limit")
    assert int(replayed.headers["retry-after"]) > 0
    [delivery] = (await ann.get(f"/jobs/{job}/webhooks")).json["deliveries"]
    assert (delivery["state"], delivery["attempts"]) == ("delivered", 3)


async def until_delivered(by: Visitor, job: str) -> None:
    async def over() -> bool:
        found = (await by.get(f"/jobs/{job}/webhooks")).json["deliveries"]
        return [one["state"] for one in found] == ["delivered"]

    await until(over, 20, lambda: "it is not delivered")


async def test_a_receiver_that_lets_its_webhooks_hang_holds_up_nobody_elses(
    working: Front, site: Site, receiver: Receiver
) -> None:
    page = site.fails("/a", 410)
    many = 2 * AT_ONE_RECEIVER
    async with listening() as hanging:
        hanging.held = asyncio.Event()
        jobs = [(await submit(working, page, hook=hanging.url)).json["job_id"] for _ in range(many)]
        await hanging.has_heard(AT_ONE_RECEIVER)
        await submit(working, page, hook=receiver.url)
        await receiver.has_heard(1)
        found = [one for job in jobs for one in await deliveries(working, job)]
        assert {(one["state"], one["error"]) for one in found} == {("waiting", None)}
        hanging.held.set()
        await hanging.has_heard(many)
        ends = [one for job in jobs for one in await until_ended(working, job)]
        assert [(one["state"], one["attempts"]) for one in ends] == [("delivered", 1)] * many
    assert hanging.most_under_way == AT_ONE_RECEIVER


async def test_every_end_of_a_job_is_told_once(
    working: Front, site: Site, receiver: Receiver
) -> None:
    job = (await submit(working, site.fails("/a", 410), hook=receiver.url)).json["job_id"]
    await receiver.has_heard(1)
    await working.ask("POST", f"/jobs/{job}/retry")
    await receiver.has_heard(2)
    assert [json.loads(body)["round"] for _headers, body in receiver.heard] == [1, 2]
    assert [d["round"] for d in await until_ended(working, job)] == [1, 2]


async def test_a_job_that_is_finished_at_once_is_told_of_too(
    working: Front, site: Site, receiver: Receiver
) -> None:
    story = b"<html><body><article>" + b"<p>Once upon a time there was. </p>" * 20
    page = site.has("/a", story, HTML)
    first = (await submit(working, page, hook=receiver.url)).json["job_id"]
    await working.engine.ended(first)
    second = (await submit(working, page, hook=receiver.url)).json
    assert second["status"] == "COMPLETED"
    await receiver.has_heard(2)
    assert {json.loads(body)["job_id"] for _h, body in receiver.heard} == {first, second["job_id"]}


@pytest.mark.parametrize(
    "hook", ["http://10.0.0.1/", "http://[::ffff:10.0.0.1]/", "ftp://a.example"]
)
async def test_a_hook_that_must_not_be_called_is_refused(plain_door: Front, hook: str) -> None:
    answer = await submit(plain_door, "http://a.example/", hook=hook)
    assert_problem(answer, 422, "bad_request")
    assert "webhook_url" in answer.json["detail"]


async def test_a_name_that_leads_to_a_refused_address_is_not_called(
    working: Front, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What its spelling does not tell, the guard sees when it connects."""
    monkeypatch.setattr(delivery_attempts, "MOST_ATTEMPTS", 1)
    hook = "http://link-local.example/hook"

    async def resolve(*_given: Any, **_more: Any) -> Any:
        return [(2, 1, 6, "", ("169.254.169.254", 80))]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", resolve, raising=False)
    job = (await submit(working, site.fails("/a", 410), hook=hook)).json["job_id"]
    [delivery] = await until_ended(working, job)
    assert delivery["state"] == "failed"
    assert delivery["status"] is None


async def test_every_door_that_makes_a_job_takes_a_hook(
    working: Front, site: Site, board: PracticeSite, receiver: Receiver
) -> None:
    fetched = await working.submit(site.has("/a", b"words", HTML), webhook_url=receiver.url)
    assert fetched.status == 201, fetched
    assert (await declare(working, board)).status == 201
    run = await scrape(working, "async", webhook_url=receiver.url)
    jobs = {fetched.json["id"], run.json["data"]["run_id"]}
    await receiver.has_heard(2)
    assert {json.loads(body)["job_id"] for _headers, body in receiver.heard} == jobs
    assert {json.loads(body)["door"] for _headers, body in receiver.heard} == {"fetch", "runs"}
    await ended(working, run.json["data"]["run_id"])
    again = (await scrape(working)).json["data"]
    assert {record["_change"] for record in again["results"]} == {"same"}, "it is the same search"


@pytest.mark.parametrize("hook", ["http://10.0.0.1/", "ftp://a.example"])
async def test_every_door_guards_its_hooks(
    plain_door: Front, board: PracticeSite, hook: str
) -> None:
    await declare(plain_door, board)
    fetched = await plain_door.submit("http://a.example/", webhook_url=hook)
    for answer in (fetched, await scrape(plain_door, "async", webhook_url=hook)):
        assert_problem(answer, 422, "bad_request")
        assert "webhook_url" in answer.json["detail"]


async def test_a_hook_is_part_of_what_an_idempotency_key_stands_for(plain_door: Front) -> None:
    page, hook = "http://a.example/", "http://b.example/"
    first = await plain_door.submit(page, key="one", webhook_url=hook)
    again = await plain_door.submit(page, key="one", webhook_url=hook)
    assert (again.status, again.json["id"]) == (201, first.json["id"])
    assert (await plain_door.submit(page, key="one")).status == 422


async def crawl(door: Front, url: str, **more: Any) -> Any:
    body = {"spider": "raw", "start_urls": [url], **more}
    return await door.ask("POST", "/crawl", json=body)


async def test_a_hook_is_called_as_it_was_given(
    working: Front, site: Site, receiver: Receiver
) -> None:
    """It is no page: its query says what it says in the order that it has."""
    hook = receiver.url.replace("http://", "HTTP://") + "?b=2&a=1#part"
    job = (await submit(working, site.fails("/gone", 410), hook=hook)).json["job_id"]
    await receiver.has_heard(1)
    assert receiver.asked == ["/hook?b=2&a=1"]
    shown = [one["url"] for one in await deliveries(working, job)]
    assert shown == [hook.removesuffix("hook?b=2&a=1#part") + "***"], "its path may be a token"


async def test_who_asks_for_the_same_crawl_again_is_told_of_its_end_too(
    working: Front, site: Site, receiver: Receiver
) -> None:
    page = site.has("/a", b"words", HTML)
    site.held["/a"] = asyncio.Event()
    job = (await crawl(working, page, tags=["first"])).json["job_id"]
    again = (await crawl(working, page, webhook_url=receiver.url, tags=["second"])).json
    assert (again["job_id"], again["cached"]) == (job, True)
    assert (await working.get(f"/jobs/{job}")).json["tags"] == ["first", "second"]
    same = (await crawl(working, page, webhook_url=receiver.url)).json
    assert same["job_id"] == job
    site.held["/a"].set()
    await receiver.has_heard(1)
    assert [one["state"] for one in await until_ended(working, job)] == ["delivered"]
    other = await crawl(working, page, webhook_url=f"{receiver.url}?mine")
    assert_problem(other, 409, "wrong_state")
    assert job in other.json["detail"]
    assert "ignore_cache" in other.json["detail"]
    mine = await crawl(working, page, webhook_url=f"{receiver.url}?mine", ignore_cache=True)
    assert mine.json["job_id"] != job


async def test_who_comes_when_the_same_crawl_has_ended_is_told_at_once(
    working: Front, site: Site, receiver: Receiver
) -> None:
    page = site.has("/a", b"words", HTML)
    job = (await crawl(working, page)).json["job_id"]
    await working.engine.ended(job)
    answers = await asyncio.gather(*(crawl(working, page, webhook_url=receiver.url)
                                     for _ in range(5)))  # fmt: skip
    assert {answer.json["job_id"] for answer in answers} == {job}
    await receiver.has_heard(1)
    await until_ended(working, job)
    [(_headers, body)] = receiver.heard
    assert json.loads(body)["job_id"] == job
    assert json.loads(body)["state"] == "succeeded"


async def test_of_two_hooks_that_come_at_once_one_is_refused(door: Front) -> None:
    page = "http://a.example/"
    job = (await crawl(door, page)).json["job_id"]
    hooks = [f"http://{n % 2}.example/hook" for n in range(10)]
    answers = await asyncio.gather(*(crawl(door, page, webhook_url=hook) for hook in hooks))
    [row] = await door.engine.query("SELECT webhook_url FROM jobs WHERE public_id = :job", job=job)
    assert [answer.status for answer in answers] == [
        200 if hook == row.webhook_url else 409 for hook in hooks
    ]


async def test_a_hook_of_a_crawl_that_waits_for_its_slot_holds_for_later_slots(
    door: Front,
) -> None:
    later = {"schedule_at": "2999-01-01T00:00:00Z", "interval": "@daily"}
    hook, page = "http://b.example/hook?z=1&a=2", "http://a.example/"
    first = (await crawl(door, page, **later)).json
    again = (await crawl(door, page, webhook_url=hook, **later)).json
    assert (again["job_id"], again["schedule_id"]) == (first["job_id"], first["schedule_id"])
    [row] = await door.engine.query("SELECT webhook_url FROM jobs")
    assert row.webhook_url == hook
    [kept] = await door.engine.query("SELECT payload FROM schedules")
    assert json.loads(kept.payload)["crawl"]["webhook_url"] == hook
    other = await crawl(door, page, webhook_url="http://c.example/", **later)
    assert_problem(other, 409, "wrong_state")
