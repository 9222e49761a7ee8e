"""A job's log tells of failures what it tells of successes: the answer, and what was said of it."""

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web

from curtsy.clock import Clock
from curtsy.events.log_lines import log_lines
from curtsy.events.stored_events import read_job_after
from curtsy.jobs import SubmitLimits, Submitter
from curtsy.scrapers import NAMES
from curtsy.scrapers.registry import OwnScrapers
from curtsy.store import Store
from support.engine import LOOPBACK, Engine, settings
from support.pages import PageServer

CHATTY = '''
from curtsy.scrapers import Broken, scraper


@scraper
def chatty(page):
    """Says what it sees, and then that it cannot use it."""
    page.log("a look at the page", "WARNING")
    print("in passing")
    if "broken" in page.text:
        raise Broken("Nothing here.")
    raise ValueError("nonsense")
'''


async def lines_of(curtsy: Engine, job: str) -> list[tuple[str, str]]:
    row = await curtsy.job(job)
    facts = await curtsy.store.read(lambda c: read_job_after(c, row.id, 0, most=500))
    return [(line.level, line.msg) for fact in facts for line in log_lines(fact)]


async def test_what_a_scraper_said_is_told_also_when_it_fails(
    store: Store, clock: Clock, tmp_path: Path
) -> None:
    file = tmp_path / "chatty.py"
    file.write_text(CHATTY)
    limits = SubmitLimits(allow=LOOPBACK, scrapers=NAMES | {"chatty"})
    submitter = Submitter(store=store, clock=clock, limits=limits, delay_ms=20)
    curtsy = Engine(store, clock, submitter)
    own = OwnScrapers((str(file),), {"chatty": ""})
    pages = {"/broken": b"broken", "/raises": b"other"}
    async with PageServer(pages) as server, curtsy.worker(settings(own=own)):
        for path, error in (("/broken", "Nothing here."), ("/raises", "The scraper failed: Value")):
            job = await curtsy.submit(server.url(path), scraper="chatty")
            await curtsy.ended(job, 60)
            lines = await lines_of(curtsy, job)
            at = next(n for n, (level, _msg) in enumerate(lines) if level == "ERROR")
            assert lines[at - 2 : at] == [("WARNING", "a look at the page"), ("INFO", "in passing")]
            told = lines[at][1]
            assert told.startswith(f"Failed: {server.url(path)}: {error}")
            assert f" (extract_failed, 200, {len(pages[path])} bytes, " in told


class Busy:
    """A host that wants to be left alone for a while, once."""

    def __init__(self) -> None:
        self.url = ""
        self.asked = 0

    async def answer(self, _request: web.Request) -> web.Response:
        self.asked += 1
        if self.asked == 1:
            return web.Response(status=429, headers={"Retry-After": "3"})
        return web.Response(text="words")


@pytest.fixture
async def busy() -> AsyncIterator[Busy]:
    host = Busy()
    app = web.Application()
    app.router.add_get("/page", host.answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await (place := web.TCPSite(runner, "127.0.0.1", 0)).start()
    assert place
    host.url = f"http://127.0.0.1:{runner.addresses[0][1]}/page"
    yield host
    await runner.cleanup()


async def test_a_retry_that_waits_for_its_host_says_for_how_long(
    curtsy: Engine, busy: Busy
) -> None:
    async with curtsy.worker():
        job = await curtsy.submit(busy.url)
        assert (await curtsy.ended(job, 60)).state == "succeeded"
    [told] = [msg for level, msg in await lines_of(curtsy, job) if level == "WARNING"]
    found = re.match(r"Retry when its source allows the next request, in (\d) s: http", told)
    assert found is not None, told
    assert int(found[1]) > 0, "of three seconds some may have passed"
    assert "(rate_limited, 429, " in told
