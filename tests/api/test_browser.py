"""A real browser follows a job while its connection is cut: every event once, in order."""

import asyncio
import json
import warnings

import pytest

from api.conftest import Site
from api.front import Front
from support.browser import browser, chromium
from support.wire import wire

if chromium() is None:
    warnings.warn("LEFT OUT: there is no Chromium, so no browser is tried.", stacklevel=1)
    pytest.skip("there is no Chromium", allow_module_level=True)

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
    async with wire(working.url) as line, browser() as chrome:
        await chrome.go(f"{line.url}/docs")
        body = {"articles": [{"url": url} for url in urls]}
        job = (await working.ask("POST", "/jobs/submit", json=body)).json["job_id"]
        await chrome.run(FOLLOW % job)
        async with asyncio.timeout(60):
            for some in (10, 60):
                while await chrome.run("window.heard.length") < some:
                    await asyncio.sleep(0.02)
                line.cut()
            while await chrome.run("window.ended") is None:
                await asyncio.sleep(0.05)
            while await chrome.run("window.source.readyState") != 2:  # told not to come back
                await asyncio.sleep(0.05)
        heard = await chrome.run("window.heard")
        opened = await chrome.run("window.opened")
        ended = json.loads(await chrome.run("window.ended"))
    assert line.cuts >= 2
    assert opened >= 3
    places = [tuple(int(part) for part in name.split(".")) for name, _data in heard]
    assert places == sorted(set(places))
    events = await working.engine.events(job)
    assert {n for n, _line in places} == {event.n for event in events}
    assert sum("Fetched" in data for _name, data in heard) == 100
    assert ended == {"status": "COMPLETED", "spider_job_id": job}
