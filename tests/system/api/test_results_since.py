"""Results in the order in which their pages ended, and jobs for pages that are new."""

import json
from pathlib import Path
from typing import Any

import pytest

from api.conftest import Site
from api.front import Answer, Front, assert_problem
from api.test_articles import ended, reading, story, submit
from curtsy.cli.console.live_results import LiveResults
from curtsy.cli.views.results import Form, Writer
from curtsy.client import ApiConnection, AsyncJob, open_http

__all__ = ["reading"]
HTML = "text/html"


async def _since(door: Front, job: str, event: int, limit: int = 200) -> Answer:
    return await door.get(f"/jobs/{job}/results?after_event={event}&limit={limit}")


async def _all_since(door: Front, job: str, limit: int) -> tuple[list[dict[str, Any]], int]:
    """Every result, `limit` at a time, and the last event."""
    found: list[dict[str, Any]] = []
    event = 0
    while True:
        body = (await _since(door, job, event, limit)).json
        found += body["results"] + body["failed_articles"]
        if body["last_event"] == event:
            return found, event
        event = body["last_event"]


async def test_results_come_once_by_the_events_that_ended_their_pages(
    reading: Front, site: Site
) -> None:
    urls = [site.has(f"/{n}", story(f"Story {n}"), HTML) for n in range(7)]
    urls.append(site.fails("/missing", 404))
    job = (await submit(reading, *urls)).json["job_id"]
    status = await ended(reading, job)
    for limit in (1, 3, 200):
        found, last = await _all_since(reading, job, limit)
        assert sorted(one["url"] for one in found) == sorted(urls), "each once"
        assert last > len(urls)
    in_order = (await reading.get(f"/jobs/{job}/results")).json
    body = (await _since(reading, job, 0)).json
    assert "next_cursor" not in body
    assert "last_event" not in in_order
    assert {one["url"]: one for one in body["results"]} == {
        one["url"]: one for one in in_order["results"]
    }
    assert (body["successful"], body["failed"]) == (status["completed"], status["failed"]) == (7, 1)


async def test_a_page_that_was_retried_comes_again(reading: Front, site: Site) -> None:
    url = site.fails("/flaky", 404)
    job = (await submit(reading, url)).json["job_id"]
    await ended(reading, job)
    first = (await _since(reading, job, 0)).json
    assert [one["url"] for one in first["failed_articles"]] == [url]
    site.has("/flaky", story("Better"), HTML)
    await reading.ask("POST", f"/jobs/{job}/retry")
    await ended(reading, job)
    then = (await _since(reading, job, first["last_event"])).json
    assert [one["title"] for one in then["results"]] == ["Better"]
    assert then["failed_articles"] == []
    [only] = (await _all_since(reading, job, 200))[0]
    assert only["title"] == "Better", "who comes later sees how it ended"


async def test_pages_from_the_store_have_no_event(reading: Front, site: Site) -> None:
    old, new = (site.has(f"/{n}", story(n), HTML) for n in ("old", "new"))
    await ended(reading, (await submit(reading, old)).json["job_id"])
    job = (await submit(reading, old, new)).json["job_id"]
    await ended(reading, job)
    assert [one["url"] for one in (await _since(reading, job, 0)).json["results"]] == [new]


@pytest.mark.parametrize("event", ["-1", "x", "1e3", str(10**15)])
async def test_what_is_no_event_is_refused(reading: Front, event: str) -> None:
    job = (await submit(reading, "http://a.invalid/")).json["job_id"]
    assert_problem(
        await reading.get(f"/jobs/{job}/results?after_event={event}"), 422, "bad_request"
    )


async def test_a_job_for_new_pages_leaves_out_what_the_store_has(
    reading: Front, site: Site
) -> None:
    old, gone, new = (site.has(f"/{n}", story(n), HTML) for n in ("old", "gone", "new"))
    site.fails("/gone", 404)
    await ended(reading, (await submit(reading, old, gone)).json["job_id"])
    answer = (await submit(reading, old, f"{old}#again", new_only=True)).status
    assert answer == 422, "the same page twice is refused as ever"
    created = (await submit(reading, old, gone, new, new_only=True)).json
    counts = {name: created[f"{name}_articles"] for name in ("total", "new", "cached", "skipped")}
    assert counts == {"total": 2, "new": 2, "cached": 0, "skipped": 1}
    status = await ended(reading, created["job_id"])
    assert (status["completed"], status["failed"]) == (1, 1), "what failed is tried again"
    results = (await reading.get(f"/jobs/{created['job_id']}/results")).json
    assert [one["url"] for one in results["results"]] == [new]
    planned = await submit(reading, old, gone, "http://a.invalid/", new_only=True, dry_run=True)
    assert planned.json["total"] == 2


async def test_a_job_without_any_new_page_ends_at_once(reading: Front, site: Site) -> None:
    url = site.has("/only", story("Only"), HTML)
    await ended(reading, (await submit(reading, url)).json["job_id"])
    created = (await submit(reading, url, new_only=True, tags=["t"])).json
    assert (created["total_articles"], created["skipped_articles"]) == (0, 1)
    job = created["job_id"]
    status = (await reading.get(f"/jobs/{job}/status")).json
    assert (status["status"], status["state"]) == ("COMPLETED", "succeeded")
    for path in ("", "/results", "/why", "/performance", "/results?after_event=0"):
        assert (await reading.get(f"/jobs/{job}{path}")).status == 200, path
    listed = (await reading.get("/jobs?tag=t")).json["jobs"]
    assert [one["id"] for one in listed] == [job]
    planned = await submit(reading, url, new_only=True, dry_run=True)
    assert (planned.status, planned.json["total"]) == (200, 0)
    for action in ("retry", "pause"):
        assert (await reading.ask("POST", f"/jobs/{job}/{action}")).status in (400, 409)
    assert (await reading.ask("DELETE", f"/jobs/{job}?purge=true")).status == 200
    assert (await reading.get(f"/jobs/{job}")).status == 404


async def test_new_only_and_the_age_of_copies_exclude_each_other(reading: Front) -> None:
    for field in ({"max_age": 0}, {"ignore_cache": True}):
        refused = await submit(reading, "http://a.invalid/", new_only=True, **field)
        assert_problem(refused, 422, "bad_request")
        assert "new_only takes nothing from the store" in str(refused.json)


async def test_new_only_and_a_session_exclude_each_other(reading: Front) -> None:
    cookies = "a.invalid\tFALSE\t/\tFALSE\t0\tsid\t1\n"
    for field in ({"session": True}, {"cookies": cookies}):
        refused = await submit(reading, "http://a.invalid/", new_only=True, **field)
        assert_problem(refused, 422, "bad_request")
        assert "new_only excludes session and cookies" in str(refused.json)


def _lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


async def _written(door: Front, job: str, file: Path, *, passes: int) -> list[dict[str, Any]]:
    """What `scrape` writes of a job: `passes` times what is new, then the rest."""
    with file.open("w", encoding="utf-8") as to:
        live = LiveResults(job, Writer(Form.JSON, to, file))
        async with open_http(door.url, key=None, timeout=30) as http:
            api = ApiConnection(http)
            for _ in range(passes):
                await live.write_new(api)
            written = await live.finish(api, await AsyncJob(api, job).status(), names=True)
    lines = _lines(file)
    assert written.done + written.failed == len(lines)
    return lines


async def test_what_has_no_event_is_written_at_the_end_and_the_rest_not_again(
    reading: Front, site: Site, tmp_path: Path
) -> None:
    """As after an upgrade in the middle: an older program wrote events without positions."""
    urls = [site.has(f"/{n}", story(f"Story {n}"), HTML) for n in range(6)]
    urls.append(site.fails("/missing", 404))
    job = (await submit(reading, *urls)).json["job_id"]
    await ended(reading, job)
    lost = "UPDATE events SET data = replace(data, '\"position\"', '\"at\"') WHERE n > 5"
    await reading.engine.execute(lost)
    assert len((await _all_since(reading, job, 200))[0]) < len(urls)
    for passes in (0, 1, 2):
        lines = await _written(reading, job, tmp_path / "out", passes=passes)
        assert sorted(line["url"] for line in lines) == sorted(urls), "each once"


async def test_a_failure_that_is_retried_meanwhile_is_followed_by_its_result(
    reading: Front, site: Site, tmp_path: Path
) -> None:
    url = site.fails("/flaky", 404)
    job = (await submit(reading, url)).json["job_id"]
    await ended(reading, job)
    with (tmp_path / "out").open("w", encoding="utf-8") as to:
        live = LiveResults(job, Writer(Form.JSON, to, tmp_path / "out"))
        async with open_http(reading.url, key=None, timeout=30) as http:
            api = ApiConnection(http)
            await live.write_new(api)
            site.has("/flaky", story("Better"), HTML)
            await reading.ask("POST", f"/jobs/{job}/retry")
            await ended(reading, job)
            await live.write_new(api)
            await live.write_new(api)
    lines = _lines(tmp_path / "out")
    assert ["error" in line for line in lines] == [True, False]
    assert (live.written.done, live.written.failed) == (1, 0), "the last counts"
