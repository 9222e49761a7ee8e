"""Hosts and pages in trouble: the one is not taken for the other, and rests are kept by all."""

import asyncio
from collections.abc import AsyncIterator
from random import Random

import pytest
from aiohttp import web

from curtsy.config.conversions import LANES_PER_SLOT
from curtsy.frontier.batch import Result
from curtsy.frontier.source_policy import Description, PolicyContext, describe
from curtsy.frontier.take import Visit
from curtsy.model.failure_kinds import Kind
from curtsy.model.outcome import Failed
from curtsy.politeness.host_health import HEALTHY
from curtsy.politeness.policy import Policy
from curtsy.sources.source import pause_source, resume_source
from curtsy.worker.outcomes import judge
from support.engine import Engine, settings, until

QUICK = Policy(min_delay=1, retry_base=60, retry_cap=60)
REFUSAL = "Not now."
NOBODY = "127.0.3.3:9"


class Site:
    """Answers as it is told, and notes what it was asked."""

    def __init__(self) -> None:
        self.name = ""
        self.asked: list[str] = []
        self.refuses: dict[str, dict[str, str]] = {}
        """By path: the headers of its 503."""
        self.held: dict[str, asyncio.Event] = {}
        self.robots = ""
        self.error_bytes = 0

    def url(self, path: str) -> str:
        return f"http://{self.name}{path}"

    async def answer(self, request: web.Request) -> web.Response:
        self.asked.append(request.path)
        if request.path == "/robots.txt" and request.path not in self.refuses:
            return web.Response(text=self.robots)
        if request.path in self.held:
            await self.held[request.path].wait()
        if request.path in self.refuses:
            self.error_bytes += len(REFUSAL)
            return web.Response(status=503, headers=self.refuses[request.path], text=REFUSAL)
        if "If-None-Match" in request.headers:
            return web.Response(status=304)
        return web.Response(text="Hello", headers={"ETag": '"1"'})


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    served = Site()
    app = web.Application()
    app.router.add_get("/{path:.*}", served.answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "0.0.0.0", 0).start()
    served.name = f"127.0.0.1:{runner.addresses[0][1]}"
    yield served
    for event in served.held.values():
        event.set()
    await runner.cleanup()


async def test_one_page_that_is_always_refused_takes_no_other_with_it(
    curtsy: Engine, site: Site
) -> None:
    site.refuses["/bad"] = {}
    urls = [site.url("/bad"), *(site.url(f"/{n}") for n in range(30))]
    async with curtsy.worker(settings(QUICK)):
        job = await curtsy.submit(*urls)
        ended = await curtsy.ended(job, 60)
    assert (ended.done, ended.failed) == (30, 1)
    assert 4 <= site.asked.count("/bad") <= 7, "about as often as a dead host is tried"
    [letter] = await curtsy.query("SELECT * FROM dead_letters")
    assert letter.kind == "rate_limited"
    [source] = await curtsy.query("SELECT * FROM sources")
    assert source.fail_streak <= 1


async def test_a_page_alone_that_is_refused_ends_with_its_host(curtsy: Engine, site: Site) -> None:
    site.refuses["/bad"] = {}
    async with curtsy.worker(settings(QUICK)):
        ended = await curtsy.ended(await curtsy.submit(site.url("/bad")), 60)
    assert (ended.done, ended.failed) == (0, 1)
    assert site.asked == ["/bad"] * 4


async def test_every_request_of_a_page_counts_as_a_try(curtsy: Engine, site: Site) -> None:
    """Whether the fault was the page's or its host's."""
    site.refuses["/bad"] = {"Retry-After": "0"}
    async with curtsy.worker(settings(QUICK)):
        assert (await curtsy.ended(await curtsy.submit(site.url("/bad")), 60)).failed == 1
    asked = len(site.asked)
    assert asked >= 2
    [page] = await curtsy.query("SELECT id, retry_count FROM pages")
    [letter] = await curtsy.query("SELECT attempts FROM dead_letters")
    assert (page.retry_count, letter.attempts) == (asked - 1, asked)
    tries = await curtsy.query("SELECT attempt FROM attempts ORDER BY turn")
    assert [one.attempt for one in tries] == list(range(1, asked + 1))
    site.refuses.clear()
    async with curtsy.worker(settings(QUICK)):
        assert (await curtsy.ended(await curtsy.submit(site.url("/bad")), 60)).done == 1
    [page] = await curtsy.query("SELECT id, retry_count FROM pages")
    assert page.retry_count == 0, "another visit counts anew"


async def test_requests_for_robots_txt_do_not_count_as_tries_of_the_page(
    curtsy: Engine, site: Site
) -> None:
    site.refuses["/robots.txt"] = {}
    async with curtsy.worker(settings(QUICK, obeys_robots=True)):
        job = await curtsy.submit(site.url("/good"))
        assert (await curtsy.ended(job, 60)).failed == 1
    assert "/good" not in site.asked
    [letter] = await curtsy.query("SELECT attempts, retry_count FROM dead_letters "
                                  "JOIN pages ON pages.id = page_id")  # fmt: skip
    assert tuple(letter) == (0, 0)


async def test_a_dead_host_of_a_group_takes_no_other_with_it(curtsy: Engine, site: Site) -> None:
    group = Description("group", {}, (site.name, NOBODY))
    around = PolicyContext(QUICK, 3_000, curtsy.clock.now())
    await curtsy.store.write(lambda c: describe(c, group, around))
    urls = [f"http://{NOBODY}/{n}" for n in range(20)] + [site.url(f"/{n}") for n in range(20)]
    async with curtsy.worker(settings(QUICK)):
        job = await curtsy.submit(*urls)
        ended = await curtsy.ended(job, 60)
    assert (ended.done, ended.failed) == (20, 20)
    by_kind = {(item.kind, NOBODY in item.page_url) for item in await curtsy.items(job)}
    assert by_kind == {(None, False), ("connect", True)}
    tried = await curtsy.query("SELECT * FROM attempts WHERE outcome = 'failed'")
    assert len(tried) == 4, "the other pages of the dead host were never asked for"
    letters = await curtsy.query("SELECT attempts FROM dead_letters")
    assert sum(letter.attempts for letter in letters) == 4
    assert len([letter for letter in letters if not letter.attempts]) >= 16


async def test_who_says_retry_after_no_time_is_not_asked_without_pause(
    curtsy: Engine, site: Site
) -> None:
    site.refuses["/eager"] = {"Retry-After": "0"}
    policy = Policy(min_delay=1, retry_base=60_000)
    async with curtsy.worker(settings(policy)):
        await curtsy.submit(site.url("/eager"))

        async def rests() -> bool:
            [source] = await curtsy.query("SELECT * FROM sources")
            return bool(
                source.owner is None and (source.next_fetch_at or 0) > curtsy.clock.now() + 20_000
            )

        await until(rests, 30, lambda: f"asked {len(site.asked)} times")
    assert len(site.asked) == 2
    [receipt] = await curtsy.query("SELECT * FROM receipts")
    assert receipt.rests_announced == 0, "no time is nothing that could be honoured"


async def test_requests_that_fail_together_are_one_failure(curtsy: Engine, site: Site) -> None:
    for n in range(4):
        site.held[f"/{n}"], site.refuses[f"/{n}"] = asyncio.Event(), {"Retry-After": "1"}
    policy = Policy(min_delay=0, concurrency=4, give_up_probes=2, retry_base=60)
    async with curtsy.worker(settings(policy)):
        job = await curtsy.submit(*(site.url(f"/{n}") for n in range(4)))
        await until(lambda: _true_when(len(site.asked) == 4), 30, lambda: f"{site.asked}")
        site.refuses, held = {path: {"Retry-After": "1"} for path in site.refuses}, site.held
        site.held = {}
        for event in held.values():
            event.set()

        async def told() -> bool:
            return len(await curtsy.query("SELECT * FROM attempts")) == 4

        await until(told, 30, lambda: "four answers are recorded")
        site.refuses = {}
        ended = await curtsy.ended(job, 60)
    assert (ended.done, ended.failed) == (4, 0)
    [receipt] = await curtsy.query("SELECT * FROM receipts")
    assert receipt.rests_announced == 1


async def _true_when(fact: bool) -> bool:
    return fact


async def test_a_lane_that_waited_for_a_slot_asks_again_whether_it_may(
    curtsy: Engine, site: Site
) -> None:
    """One slot, two places at the source: the second request waits for the slot of the first,
    whose answer is that we are to wait."""
    site.held["/first"], site.refuses["/first"] = asyncio.Event(), {"Retry-After": "3600"}
    policy = Policy(min_delay=0, concurrency=2)
    async with curtsy.worker(settings(policy, slots=1)):
        await curtsy.submit(site.url("/first"), site.url("/second"))
        await until(lambda: _true_when(site.asked == ["/first"]), 30, lambda: f"{site.asked}")
        await asyncio.sleep(0.3)  # the lane comes to wait for the slot
        site.held["/first"].set()

        async def given_back() -> bool:
            [source] = await curtsy.query("SELECT * FROM sources")
            return bool(source.owner is None and source.fail_streak)

        await until(given_back, 30, lambda: f"{site.asked}")
    assert site.asked == ["/first"]


async def test_hours_that_close_while_a_lane_waits_for_a_slot_are_kept(
    curtsy: Engine, site: Site
) -> None:
    """Two sources, one slot: one of them is asked, and the other closes meanwhile."""
    port = site.name.rpartition(":")[2]
    names = {f"/{n}": f"127.0.0.{n}:{port}" for n in (1, 2)}
    site.held = {path: asyncio.Event() for path in names}
    async with curtsy.worker(settings(QUICK, slots=1)):
        await curtsy.submit(*(f"http://{name}{path}" for path, name in names.items()))

        async def both_held() -> bool:
            held = await curtsy.query("SELECT * FROM sources WHERE owner IS NOT NULL")
            return len(held) == 2 and len(site.asked) == 1

        await until(both_held, 30, lambda: f"{site.asked}")
        [asked] = site.asked
        [waits] = names.keys() - {asked}
        minute = curtsy.clock.now() // 60_000 % 1440
        closed = {"start": (minute - 60) % 1440, "end": (minute + 120) % 1440, "closed": True}
        around = PolicyContext(QUICK, 3_000, curtsy.clock.now())
        shut = Description(names[waits], {"hours": closed})
        await curtsy.store.write(lambda c: describe(c, shut, around))
        await asyncio.sleep(1.5)  # within a second the lane hears of it
        site.held[asked].set()

        async def given_back() -> bool:
            return not await curtsy.query("SELECT * FROM sources WHERE owner IS NOT NULL")

        await until(given_back, 30, lambda: f"{site.asked}")
    assert site.asked == [asked]


async def test_more_sources_than_slots_are_all_asked_at_their_own_pace(
    curtsy: Engine, site: Site
) -> None:
    """A lane that waits for its delay takes no slot: forty sources with two slots, each at once."""
    port = site.name.rpartition(":")[2]
    hosts = [f"127.0.0.{n}:{port}" for n in range(1, 41)]
    slow = Policy(min_delay=20_000)
    async with curtsy.worker(settings(slow, slots=2, lanes=2 * LANES_PER_SLOT)):
        await curtsy.submit(*(f"http://{host}/{page}" for page in range(2) for host in hosts))
        await until(lambda: _true_when(len(site.asked) >= 40), 15, lambda: f"{len(site.asked)}")


async def test_who_waits_for_a_worker_waits_for_capacity(curtsy: Engine, site: Site) -> None:
    job = await curtsy.submit(site.url("/1"))
    await asyncio.sleep(1.0)
    async with curtsy.worker(settings(QUICK)):
        row = await curtsy.ended(job, 60)
    assert row.capacity_ms >= 900
    assert row.politeness_ms < row.capacity_ms / 2


async def test_who_waits_for_a_paused_source_does_not_wait_for_a_worker(
    curtsy: Engine, site: Site
) -> None:
    job = await curtsy.submit(site.url("/1"))
    await curtsy.store.write(lambda c: pause_source(c, site.name, by="ann"))
    await asyncio.sleep(1.0)
    async with curtsy.worker(settings(QUICK)):
        now = curtsy.clock.now()
        await curtsy.store.write(lambda c: resume_source(c, site.name, now=now))
        row = await curtsy.ended(job, 60)
    assert row.capacity_ms < row.politeness_ms


async def test_a_source_whose_robots_file_wants_a_long_delay_is_given_back_meanwhile(
    curtsy: Engine, site: Site
) -> None:
    site.robots = "User-agent: *\nCrawl-delay: 50\n"
    async with curtsy.worker(settings(QUICK, obeys_robots=True)):
        await curtsy.submit(site.url("/1"))

        async def given_back() -> bool:
            [source] = await curtsy.query("SELECT * FROM sources")
            wait = (source.next_fetch_at or 0) - curtsy.clock.now()
            return bool(site.asked and source.owner is None and wait > 30_000)

        await until(given_back, 30, lambda: f"{site.asked}")
    assert site.asked == ["/robots.txt"]


async def test_the_receipt_tells_what_the_site_had_of_us(curtsy: Engine, site: Site) -> None:
    site.robots = "User-agent: *\nDisallow: /no\n"
    site.refuses["/later"] = {"Retry-After": "1"}
    terms = settings(QUICK, obeys_robots=True)
    async with curtsy.worker(terms):
        job = await curtsy.submit(site.url("/yes"), site.url("/no"), site.url("/later"))
        await until(lambda: _true_when("/later" in site.asked), 30, lambda: f"{site.asked}")
        site.refuses = {}
        await curtsy.ended(job, 60)
    async with curtsy.worker(terms):  # another one goes on with the same receipt
        site.refuses["/down"] = {}
        job = await curtsy.submit(site.url("/yes"), site.url("/down"))
        await until(lambda: _true_when("/down" in site.asked), 30, lambda: f"{site.asked}")
        site.refuses = {}
        await curtsy.ended(job, 60)
    [receipt] = await curtsy.query("SELECT * FROM receipts")
    assert receipt.requests == len(site.asked)
    assert (receipt.robots_requests, receipt.robots_refusals) == (1, 1)
    assert (receipt.rests_announced, receipt.rests_of_our_own) == (1, 1)
    assert receipt.not_modified == 1
    assert receipt.bytes_saved == len("Hello")
    assert receipt.bytes == len(site.robots) + len("Hello") * 3 + site.error_bytes
    assert receipt.smallest_gap_ms >= 1


@pytest.mark.parametrize(
    ("failed", "answered"),
    [(Failed(Kind.TIMEOUT, "late"), False), (Failed(Kind.RESET, "cut"), False),
     (Failed(Kind.DNS, "no such name", final=True), False),
     (Failed(Kind.TRUNCATED, "short"), True), (Failed(Kind.SERVER_ERROR, "", status=500), True),
     (Failed(Kind.GONE, "", status=404), True)],
    ids=lambda value: value.kind.value if isinstance(value, Failed) else "",
)  # fmt: skip
async def test_silence_does_not_speak_for_a_host(failed: Failed, answered: bool) -> None:
    visit = Visit(1, 1, 1, 5, 1, None, 0, 0, "http://a.com/", None, 0, 0, "raw", None, None, None)
    result = Result(visit, failed, started_at=0, ended_at=1)
    judged = judge(result, policy=QUICK, health=HEALTHY, rng=Random(1), answers_others=True)
    assert (judged.answered, judged.trouble) == (answered, None)
