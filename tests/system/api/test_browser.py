"""A real browser follows a job while its connection is cut: every event once, in order."""

import asyncio
import json

import pytest

from api.conftest import Site
from api.front import Front
from support.browser import browser
from support.patience import PATIENCE
from support.programs import chromium
from support.wire import wire

pytestmark = pytest.mark.skipif(
    chromium() is None, reason="LEFT OUT: there is no Chromium; make test installs it as root"
)

STORY = b"<html><title>A story</title><body><article>" + b"<p>Once upon a time. </p>" * 20
FOLLOW = """
    window.heard = []; window.ended = null; window.opened = 0;
    const source = new EventSource("/jobs/%s/logs");
    source.onopen = () => window.opened++;
    source.addEventListener("log", e => window.heard.push([e.lastEventId, e.data]));
    source.addEventListener("end", e => { window.ended = e.data; });
    source.onerror = () => { window.state = source.readyState; };
    window.source = source; true
"""


async def test_an_eventsource_misses_nothing_when_it_is_cut_twice(
    working: Front, site: Site
) -> None:
    urls = [site.has(f"/{n}", STORY, "text/html") for n in range(100)]
    site.held = {"/30": asyncio.Event(), "/70": asyncio.Event()}
    async with wire(working.url) as line, browser() as chrome:
        await chrome.go(f"{line.url}/docs")
        body = {"articles": [{"url": url} for url in urls]}
        job = (await working.ask("POST", "/jobs/submit", json=body)).json["job_id"]
        await chrome.run(FOLLOW % job)
        async with asyncio.timeout(3 * PATIENCE):
            for some, held in zip((10, 60), site.held.values(), strict=True):
                while await chrome.run("window.heard.length") < some:
                    await asyncio.sleep(0.02)
                opened = await chrome.run("window.opened")
                line.cut()
                while await chrome.run("window.opened") == opened:
                    await asyncio.sleep(0.02)
                held.set()
            while await chrome.run("window.ended") is None:
                await asyncio.sleep(0.05)
            while await chrome.run("window.source.readyState") != 2:  # told not to come back
                await asyncio.sleep(0.05)
        heard = await chrome.run("window.heard")
        opened = await chrome.run("window.opened")
        ended = json.loads(await chrome.run("window.ended"))
    assert line.cuts >= 2
    assert opened >= 3, "it came back each time"
    places = [tuple(int(part) for part in name.split(".")) for name, _data in heard]
    assert places == sorted(set(places))
    events = await working.engine.events(job)
    assert {n for n, _line in places} == {event.n for event in events}
    assert sum("Fetched" in data for _name, data in heard) == 100
    assert ended == {"status": "COMPLETED", "spider_job_id": job}


FOLLOW_ALL = """
    window.heard = []; window.opened = 0;
    const source = new EventSource("/events");
    source.onopen = () => window.opened++;
    source.onmessage = e => window.heard.push([e.lastEventId, e.data]);
    true
"""


async def test_an_eventsource_on_all_jobs_misses_nothing_not_even_before_its_first_event(
    working: Front, site: Site
) -> None:
    urls = [site.has(f"/{n}", STORY, "text/html") for n in range(20)]
    site.held = {"/10": asyncio.Event()}

    async def submit(*pages: str) -> str:
        body = {"articles": [{"url": url} for url in pages]}
        return str((await working.ask("POST", "/jobs/submit", json=body)).json["job_id"])

    async with wire(working.url) as line, browser() as chrome, asyncio.timeout(90):

        async def opened(times: int) -> None:
            while await chrome.run("window.opened") < times:
                await asyncio.sleep(0.02)

        async def heard(times: int) -> None:
            while await chrome.run("window.heard.length") < times:
                await asyncio.sleep(0.02)

        await chrome.go(f"{line.url}/docs")
        await chrome.run(FOLLOW_ALL)
        await opened(1)
        while working.backend.feed.followers < 1:
            await asyncio.sleep(0.02)
        line.is_down = True
        line.cut()
        jobs = [await submit(urls[0])]  # nobody is there to hear of it
        await working.engine.ended(jobs[0], 60)
        line.is_down = False
        await opened(2)
        await heard(4)
        jobs.append(await submit(*urls[1:]))
        await heard(7)
        line.cut()
        await opened(3)
        site.held["/10"].set()
        await working.engine.ended(jobs[1], 60)
        every = [event for job in jobs for event in await working.engine.events(job)]
        await heard(len(every))
        told = [json.loads(data) for _id, data in await chrome.run("window.heard")]
    assert line.cuts >= 2
    assert [(one["job_id"], one["event"]) for one in told] == [
        (job, event.name) for job in jobs for event in await working.engine.events(job)
    ]
