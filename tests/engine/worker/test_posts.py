"""POST and PUT: sent with their body, redirected as browsers do, and no POST is sent twice."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from curtsy.fetch import Limits
from curtsy.jobs import (
    JobRequest,
    LetterSelection,
    PageRequest,
    cancel,
    pause,
    resume,
    retry_failures,
    retry_letters,
)
from curtsy.maintenance.tasks import MaintenanceTasks
from curtsy.model.page_body import Method, PageBody
from curtsy.politeness.policy import Policy
from curtsy.worker import lane, sent_posts
from support.engine import Engine, settings, until
from support.patience import PATIENCE
from support.posts import DROP, HALF, HOLD, OK, RESET, PostSite, answer

QUICK = settings(
    Policy(min_delay=0, max_retries=2, retry_base=20, retry_cap=40),
    limits=Limits(connect_seconds=5, total_seconds=5),
)
IMPATIENT = settings(
    Policy(min_delay=0, max_retries=2, retry_base=20, retry_cap=40),
    limits=Limits(connect_seconds=5, total_seconds=0.5),
)


@pytest.fixture
async def shop() -> AsyncIterator[PostSite]:
    async with PostSite() as site:
        yield site


def post(text: str = "q=1", **more: Any) -> PageBody:
    return PageBody(Method.POST, text, "application/x-www-form-urlencoded", **more)


def put(text: str = "q=1") -> PageBody:
    return PageBody(Method.PUT, text, "text/plain; charset=utf-8")


async def submitted(curtsy: Engine, url: str, *bodies: PageBody | None, **more: Any) -> str:
    pages = [PageRequest(url, body=body) for body in bodies]
    request = JobRequest(door="fetch", pages=pages, **more)
    return (await curtsy.submitter.submit(request)).job


async def test_two_bodies_are_two_pages_and_go_as_they_are(curtsy: Engine, shop: PostSite) -> None:
    async with curtsy.worker(QUICK):
        bodies = post("q=1"), post("q=2"), put("whole"), None
        job = await submitted(curtsy, shop.url("/search"), *bodies)
        assert (await curtsy.ended(job)).state == "succeeded"
    sent = sorted((one.method, one.body, one.headers.get("content-type")) for one in shop.heard)
    form = "application/x-www-form-urlencoded"
    assert sent == [
        ("GET", b"", None), ("POST", b"q=1", form), ("POST", b"q=2", form),
        ("PUT", b"whole", "text/plain; charset=utf-8"),
    ]  # fmt: skip


async def test_the_content_type_is_the_body_s_whatever_the_job_s_headers_say(
    curtsy: Engine, shop: PostSite
) -> None:
    async with curtsy.worker(QUICK):
        headers = (("content-type", "text/x-mine"), ("X-Own", "yes"))
        job = await submitted(curtsy, shop.url(), post(), headers=headers)
        await curtsy.ended(job)
    [heard] = shop.heard
    assert heard.headers["content-type"] == "application/x-www-form-urlencoded"
    assert heard.headers["x-own"] == "yes"


async def test_a_post_is_sent_again_by_each_job_and_never_conditionally(
    curtsy: Engine, shop: PostSite
) -> None:
    """A stored answer, however fresh, is not what the site would answer now."""
    shop.script["/"] = [answer("200 OK", b"one", etag='"1"')]
    async with curtsy.worker(QUICK):
        for _ in range(2):
            job = await submitted(curtsy, shop.url(), post(), max_age=10**9)
            assert (await curtsy.ended(job)).state == "succeeded"
    assert [one.method for one in shop.heard] == ["POST", "POST"]
    assert all("if-none-match" not in one.headers for one in shop.heard)


@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "303 See Other"])
async def test_after_a_redirect_a_get_follows_without_the_body(
    curtsy: Engine, shop: PostSite, status: str
) -> None:
    shop.script["/"] = [answer(status, location="/landed")]
    async with curtsy.worker(QUICK):
        job = await submitted(curtsy, shop.url(), post())
        assert (await curtsy.ended(job)).state == "succeeded"
    assert [(one.method, one.path, one.body) for one in shop.heard] == [
        ("POST", "/", b"q=1"), ("GET", "/landed", b""),
    ]  # fmt: skip
    assert "content-type" not in shop.heard[1].headers


async def test_a_get_stays_a_get_after_a_later_307(curtsy: Engine, shop: PostSite) -> None:
    shop.script["/"] = [answer("303 See Other", location="/on")]
    shop.script["/on"] = [answer("307 On", location="/landed")]
    async with curtsy.worker(QUICK):
        await curtsy.ended(await submitted(curtsy, shop.url(), post()))
    assert [one.method for one in shop.heard] == ["POST", "GET", "GET"]


@pytest.mark.parametrize("status", ["307 On", "308 On"])
async def test_307_repeats_method_and_body_on_the_same_origin(
    curtsy: Engine, shop: PostSite, status: str
) -> None:
    shop.script["/"] = [answer(status, location="/landed")]
    async with curtsy.worker(QUICK):
        job = await submitted(curtsy, shop.url(), post())
        assert (await curtsy.ended(job)).state == "succeeded"
    assert [(one.method, one.path, one.body) for one in shop.heard] == [
        ("POST", "/", b"q=1"), ("POST", "/landed", b"q=1"),
    ]  # fmt: skip


@pytest.mark.parametrize("status", ["307 On", "308 On"])
async def test_307_to_another_origin_is_a_failure_and_the_body_stays_here(
    curtsy: Engine, shop: PostSite, status: str
) -> None:
    async with PostSite("127.0.0.2") as other, curtsy.worker(QUICK):
        shop.script["/"] = [answer(status, location=other.url())]
        job = await submitted(curtsy, shop.url(), post("secret"))
        assert (await curtsy.ended(job)).state == "failed"
        [item] = await curtsy.items(job)
        assert "not repeated there" in item.error
        assert (item.kind, other.heard, len(shop.heard)) == ("client_error", [], 1)


@pytest.mark.parametrize("said", [DROP, RESET, HALF, b"no http at all\r\n\r\n"])
async def test_a_post_without_a_whole_answer_is_not_sent_again(
    curtsy: Engine, shop: PostSite, said: bytes
) -> None:
    shop.script["/"] = [said]
    async with curtsy.worker(QUICK):
        job = await submitted(curtsy, shop.url(), post())
        assert (await curtsy.ended(job)).state == "failed"
    [item] = await curtsy.items(job)
    assert len(shop.heard) == 1
    assert "not sent again, because it may have changed the site" in item.error
    assert item.kind == ("server_error" if said.startswith(b"no") else "unknown_outcome")


async def test_a_post_that_gets_no_answer_in_time_is_not_sent_again(
    curtsy: Engine, shop: PostSite
) -> None:
    shop.script["/"] = [HOLD]
    async with curtsy.worker(IMPATIENT):
        job = await submitted(curtsy, shop.url(), post())
        assert (await curtsy.ended(job)).state == "failed"
    [item] = await curtsy.items(job)
    assert (len(shop.heard), item.kind) == (1, "unknown_outcome")


@pytest.mark.parametrize("body", [put(), post(idempotent=True)])
@pytest.mark.parametrize("said", [DROP, RESET, HALF, answer("500 Oops")])
async def test_what_may_be_repeated_is_retried(
    curtsy: Engine, shop: PostSite, body: PageBody, said: bytes
) -> None:
    shop.script["/"] = [said, OK]
    async with curtsy.worker(QUICK):
        job = await submitted(curtsy, shop.url(), body)
        assert (await curtsy.ended(job)).state == "succeeded"
    assert [one.body for one in shop.heard] == [b"q=1", b"q=1"]


DECLINED = [answer("429 Slow"), answer("429 Slow", retry_after="0"),
            answer("503 Busy", retry_after="0")]  # fmt: skip


@pytest.mark.parametrize("said", DECLINED)
async def test_a_site_that_declines_a_post_gets_it_again(
    curtsy: Engine, shop: PostSite, said: bytes
) -> None:
    shop.script["/"] = [said, OK]
    async with curtsy.worker(QUICK):
        job = await submitted(curtsy, shop.url(), post())
        assert (await curtsy.ended(job)).state == "succeeded"
    assert len(shop.heard) == 2


ERRORS = [("500 Oops", "server_error"), ("503 Busy", "rate_limited"), ("408 Late", "timeout")]


@pytest.mark.parametrize(("said", "kind"), ERRORS)
async def test_other_errors_of_the_site_end_a_post(
    curtsy: Engine, shop: PostSite, said: str, kind: str
) -> None:
    """It may have processed the request before it failed."""
    shop.script["/"] = [answer(said)]
    async with curtsy.worker(QUICK):
        job = await submitted(curtsy, shop.url(), post())
        assert (await curtsy.ended(job)).state == "failed"
    [item] = await curtsy.items(job)
    assert (len(shop.heard), item.kind) == (1, kind)
    assert "not sent again" in item.error


async def test_a_post_that_never_left_is_sent_later(curtsy: Engine) -> None:
    """The port refuses connections at first: then the site has received nothing."""
    async with PostSite() as site:
        url, port = site.url(), site.port
    async with curtsy.worker(QUICK):
        job = await submitted(curtsy, url, post())
        waits = "SELECT visits.turn FROM visits WHERE turn > 1"

        async def was_tried() -> bool:
            return bool(await curtsy.query(waits))

        await until(was_tried, PATIENCE, lambda: "it was not tried again")
        later = PostSite()
        later._server = await asyncio.start_server(later._serve, "127.0.0.1", port)
        later.port = port
        assert (await curtsy.ended(job)).state == "succeeded"
        await later.__aexit__(None, None, None)
    assert len(later.heard) == 1


async def test_a_post_uses_no_old_connection(curtsy: Engine, shop: PostSite) -> None:
    """Nobody knows what became of a request that crosses the end of its connection."""
    async with curtsy.worker(QUICK):
        await curtsy.ended(await submitted(curtsy, shop.url("/a"), None))
        await curtsy.ended(await submitted(curtsy, shop.url("/b"), None))
        await curtsy.ended(await submitted(curtsy, shop.url("/c"), post()))
        await curtsy.ended(await submitted(curtsy, shop.url("/d"), put()))
    first, second, posted, last = (one.connection for one in shop.heard)
    assert first == second != posted == last


async def test_people_send_it_again_and_the_duty_does_not(curtsy: Engine, shop: PostSite) -> None:
    shop.script["/"] = [answer("500 Oops")]
    now = curtsy.clock.now
    duties = MaintenanceTasks(store=curtsy.store, clock=curtsy.clock, keep_days=30).by_name()
    async with curtsy.worker(QUICK):
        job = await submitted(curtsy, shop.url(), post())
        await curtsy.ended(job)
        [letter] = await curtsy.query("SELECT * FROM dead_letters")
        assert (letter.kind, bool(letter.final)) == ("server_error", True)
        assert await duties["dead_letters"]() == "0 failed pages are retried."
        await curtsy.store.write(lambda c: retry_failures(c, job, now=now()))
        await curtsy.ended(job)
        assert len(shop.heard) == 2
        selection = LetterSelection()
        await curtsy.store.write(lambda c: retry_letters(c, selection, now=now()))
        await curtsy.ended(job)
        assert len(shop.heard) == 3


async def test_even_a_post_that_never_left_is_left_to_people_once_it_was_given_up(
    curtsy: Engine,
) -> None:
    async with PostSite() as site:
        url = site.url()
    duties = MaintenanceTasks(store=curtsy.store, clock=curtsy.clock, keep_days=30).by_name()
    policy = Policy(min_delay=0, retry_base=10, retry_cap=10, give_up_probes=1)
    async with curtsy.worker(settings(policy)):
        await curtsy.ended(await submitted(curtsy, url, post(), put()))
    letters = await curtsy.query("SELECT kind, final FROM dead_letters")
    found = sorted((one.kind, bool(one.final)) for one in letters)
    assert found == [("connect", False), ("connect", True)]
    await curtsy.execute("UPDATE sources SET failing_since = NULL, fail_streak = 0")
    assert await duties["dead_letters"]() == "1 failed page is retried."


async def test_a_get_writes_no_mark(curtsy: Engine, shop: PostSite) -> None:
    async with curtsy.worker(QUICK):
        await curtsy.ended(await submitted(curtsy, shop.url(), None, put(), post(idempotent=True)))
        await curtsy.ended(await submitted(curtsy, shop.url(), post()))
    marks = await curtsy.query("SELECT sent_turn FROM pages ORDER BY id")
    assert [mark.sent_turn for mark in marks] == [None, None, None, 1]


@pytest.mark.parametrize("guarded", [True, False])
async def test_a_job_paused_while_its_post_is_out_does_not_send_it_again(
    curtsy: Engine, shop: PostSite, guarded: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The visit is deleted and inserted again at the same turn. Without the mark it goes again."""
    if not guarded:
        monkeypatch.setattr(lane, "already_sent", lambda _visit: None)
        monkeypatch.setattr(sent_posts.SentMarks, "mark", _always)
    shop.script["/"] = [HOLD, OK]
    now = curtsy.clock.now
    async with curtsy.worker(QUICK):
        job = await submitted(curtsy, shop.url(), post())
        await asyncio.wait_for(shop.arrived.wait(), PATIENCE)
        await curtsy.store.write(lambda c: pause(c, job, now=now()))

        async def let_go() -> bool:
            return not shop._open  # the visit was aborted

        await until(let_go, PATIENCE, lambda: "the request is still open")
        await curtsy.store.write(lambda c: resume(c, job, now=now()))
        state = (await curtsy.ended(job)).state
    [item] = await curtsy.items(job)
    if guarded:
        assert (len(shop.heard), state, item.kind) == (1, "failed", "unknown_outcome")
        assert "may have reached the site" in item.error
    else:
        assert (len(shop.heard), state) == (2, "succeeded")


async def _always(_marks: object, _visit: object) -> bool:
    return True


async def test_a_visit_that_is_gone_by_then_is_not_sent(
    curtsy: Engine, shop: PostSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mark is only for visits that still wait, in a source of this worker."""
    mark = sent_posts.SentMarks.mark
    marked: list[bool] = []

    async def cancelled_first(marks: sent_posts.SentMarks, visit: Any) -> bool:
        await curtsy.store.write(lambda c: cancel(c, job, now=curtsy.clock.now()))
        marked.append(await mark(marks, visit))
        return marked[-1]

    monkeypatch.setattr(sent_posts.SentMarks, "mark", cancelled_first)
    job = await submitted(curtsy, shop.url(), post())
    async with curtsy.worker(QUICK):

        async def tried() -> bool:
            return bool(marked)

        await until(tried, PATIENCE, lambda: "it was never tried")
    assert (marked, shop.heard) == ([False], [])
