"""The articles door with a real worker and a real site. The examples of its document are
replayed in `test_articles_document`."""

import io
import json
import re
from collections.abc import AsyncIterator
from typing import Any

import pytest

from api.conftest import Site
from api.front import Answer, Front, assert_problem, front
from curtsy.clock import Clock
from curtsy.extract import ExtractLimits
from curtsy.politeness.policy import Policy
from curtsy.store import Store
from support.engine import engine, settings, until

MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
FAST = settings(Policy(min_delay=0, concurrency=8, max_retries=0, retry_base=10),
                extract=ExtractLimits(processes=2, seconds=10))  # fmt: skip
WORDS = "A story of several sentences, told at some length so that it is one. " * 12


def story(title: str) -> bytes:
    page = f"<html lang=en><title>{title}</title><article><h1>{title}</h1><p>{WORDS}</p></article>"
    return page.encode()


@pytest.fixture
async def reading(store: Store, clock: Clock) -> AsyncIterator[Front]:
    """The API with a worker that reads articles."""
    whole = engine(store, clock)
    async with front(store, whole) as opened, whole.worker(FAST):
        yield opened


async def submit(door: Front, *urls: str, **fields: Any) -> Answer:
    articles = [{"url": url} for url in urls]
    return await door.ask("POST", "/jobs/submit", json={"articles": articles, **fields})


async def ended(door: Front, job: str) -> Any:
    async def over() -> bool:
        return bool((await door.get(f"/jobs/{job}/status")).json["pending"] == 0)

    await until(over, 30, lambda: f"{job} has not ended")
    return (await door.get(f"/jobs/{job}/status")).json


async def test_the_documents_examples_from_submit_to_results(reading: Front, site: Site) -> None:
    first = site.has("/article1", story("Understanding Models"), "text/html")
    second = site.has("/article2", story("Deep Learning"), "text/html")
    missing = site.fails("/article5", 404)
    asked = [
        {"url": first, "source": "TechNews", "category": "AI", "priority": 1},
        {"url": second, "source": "TechNews", "category": "ML", "priority": 2},
        {"url": missing, "source": "TechNews", "category": "ML", "priority": 2},
    ]
    answer = await reading.ask("POST", "/jobs/submit", json={"articles": asked})
    assert answer.status == 201
    job = answer.json["job_id"]
    assert re.fullmatch(r"job_[0-9a-f]{12}", job)
    assert answer.json == {
        "job_id": job, "status": "IN_PROGRESS", "total_articles": 3, "new_articles": 3,
        "cached_articles": 0, "message": "Job submitted successfully",
    }  # fmt: skip

    status = await ended(reading, job)
    for moment in ("created_at", "updated_at", "completed_at"):
        assert MOMENT.fullmatch(status.pop(moment))
    assert status == {
        "job_id": job, "status": "COMPLETED", "total_articles": 3, "completed": 2, "failed": 1,
        "cancelled": 0, "pending": 0, "cached_articles": 0, "tags": [], "door": "articles",
        "state": "failed",
    }  # fmt: skip

    results = (await reading.get(f"/jobs/{job}/results")).json
    one, two = results.pop("results")
    [failed] = results.pop("failed_articles")
    assert results == {
        "job_id": job, "status": "COMPLETED", "state": "failed", "door": "articles",
        "total_articles": 3, "successful": 2, "failed": 1,
    }  # fmt: skip
    assert re.fullmatch(r"art_[0-9a-f]+", one["article_id"])
    assert MOMENT.fullmatch(one["scraped_at"])
    assert (one["url"], one["source"], one["category"]) == (first, "TechNews", "AI")
    assert (one["title"], one["cached"]) == ("Understanding Models", False)
    assert one["content"].count("A story of several sentences") == 12
    assert (one["language"], two["title"]) == ("en", "Deep Learning")
    assert MOMENT.fullmatch(failed["attempted_at"])
    assert (failed["url"], failed["error"]) == (missing, "The host answered 404 Not Found.")


async def test_what_is_stored_already_is_not_fetched_again(reading: Front, site: Site) -> None:
    url = site.has("/story", story("Old News"), "text/html")
    await ended(reading, (await submit(reading, url)).json["job_id"])
    again = (await submit(reading, url)).json
    assert (again["status"], again["new_articles"], again["cached_articles"]) == ("COMPLETED", 0, 1)
    [result] = (await reading.get(f"/jobs/{again['job_id']}/results")).json["results"]
    assert (result["cached"], result["title"]) == (True, "Old News")
    assert site.asked.count("/story") == 1
    for fields in ({"ignore_cache": True}, {"max_age": 0}):
        fresh = (await submit(reading, url, **fields)).json
        assert fresh["new_articles"] == 1
        await ended(reading, fresh["job_id"])
    assert site.asked.count("/story") == 3


async def test_results_of_a_job_never_change(reading: Front, site: Site) -> None:
    url = site.has("/story", story("First"), "text/html")
    first = (await submit(reading, url)).json["job_id"]
    await ended(reading, first)
    site.has("/story", story("Second"), "text/html")
    second = (await submit(reading, url, ignore_cache=True)).json["job_id"]
    await ended(reading, second)
    titles = [
        (await reading.get(f"/jobs/{job}/results")).json["results"][0]["title"]
        for job in (first, second)
    ]
    assert titles == ["First", "Second"]


async def test_results_come_page_by_page_and_as_lines(reading: Front, site: Site) -> None:
    urls = [site.has(f"/{n}", story(f"Story {n}"), "text/html") for n in range(5)]
    job = (await submit(reading, *urls, site.fails("/gone", 410))).json["job_id"]
    await ended(reading, job)
    seen, path = [], f"/jobs/{job}/results?limit=2"
    while path:
        page = (await reading.get(path)).json
        assert len(page["results"]) + len(page["failed_articles"]) == 2
        seen += [r["url"] for r in page["results"] + page["failed_articles"]]
        onward = page.get("next_cursor")
        path = f"/jobs/{job}/results?limit=2&cursor={onward}" if onward else ""
    assert seen == [*urls, f"{site.url}/gone"]
    headers = {"Accept": "application/x-ndjson"}
    async with reading.session.get(f"{reading.url}/jobs/{job}/results", headers=headers) as reply:
        assert reply.headers["Content-Type"].startswith("application/x-ndjson")
        lines = [json.loads(line) for line in (await reply.text()).splitlines()]
    assert [line["url"] for line in lines] == seen
    assert [line["status"] for line in lines] == ["SCRAPED"] * 5 + ["FAILED"]
    assert lines[0]["title"] == "Story 0"


async def test_of_an_unfinished_job_there_is_what_exists(door: Front) -> None:
    job = (await submit(door, "http://example.com/1")).json["job_id"]
    results = (await door.get(f"/jobs/{job}/results")).json
    assert (results["status"], results["results"], results["failed_articles"]) == (
        "IN_PROGRESS", [], [],
    )  # fmt: skip


async def test_a_job_is_cancelled_once(door: Front) -> None:
    job = (await submit(door, *(f"http://example.com/{n}" for n in range(5)))).json["job_id"]
    answer = await door.delete(f"/jobs/{job}")
    assert answer.json == {
        "job_id": job, "status": "CANCELLED", "message": "Job cancelled. Removed 5 pending tasks.",
    }  # fmt: skip
    assert_problem(await door.delete(f"/jobs/{job}"), 400, "wrong_state")
    assert_problem(await door.delete("/jobs/job_000000000000"), 404, "not_found")


async def test_a_paused_job_starts_nothing_and_goes_on_when_resumed(
    door: Front, site: Site
) -> None:
    urls = [site.has(f"/{n}", story(str(n)), "text/html") for n in range(3)]
    job = (await submit(door, *urls)).json["job_id"]
    paused = await door.ask("POST", f"/jobs/{job}/pause")
    assert (paused.status, paused.json["pages"]) == (200, 3)
    assert_problem(await door.ask("POST", f"/jobs/{job}/pause"), 409, "wrong_state")
    async with door.engine.worker(FAST):
        other = (await submit(door, urls[0])).json["job_id"]
        await ended(door, other)
        status = (await door.get(f"/jobs/{job}/status")).json
        assert (status["completed"], status["pending"], status["paused"]) == (1, 2, True)
        assert site.asked == ["/0"]
        resumed = await door.ask("POST", f"/jobs/{job}/resume")
        assert (resumed.status, resumed.json["pages"]) == (200, 2)
        assert (await ended(door, job))["status"] == "COMPLETED"
    assert_problem(await door.ask("POST", f"/jobs/{job}/resume"), 409, "wrong_state")
    assert sorted(site.asked) == ["/0", "/1", "/2"]


async def test_only_the_failures_are_tried_again(reading: Front, site: Site) -> None:
    good, bad = site.has("/good", story("Good"), "text/html"), site.fails("/bad", 404)
    job = (await submit(reading, good, bad)).json["job_id"]
    assert (await ended(reading, job))["failed"] == 1
    site.has("/bad", story("Bad no more"), "text/html")
    assert (await reading.ask("POST", f"/jobs/{job}/retry")).json["pages"] == 1
    assert (await ended(reading, job))["completed"] == 2
    assert site.asked.count("/good") == 1


async def test_a_purged_job_is_gone_with_what_only_it_had(reading: Front, site: Site) -> None:
    shared = site.has("/shared", story("Shared"), "text/html")
    own = site.has("/own", story("Own"), "text/html")
    first = (await submit(reading, shared, own)).json["job_id"]
    second = (await submit(reading, shared)).json["job_id"]
    await ended(reading, first)
    await ended(reading, second)
    answer = await reading.ask("DELETE", f"/jobs/{first}?purge=true")
    assert (answer.status, answer.json["message"]) == (200, "Job purged.")
    assert_problem(await reading.get(f"/jobs/{first}"), 404, "not_found")
    [kept] = (await reading.get(f"/jobs/{second}/results")).json["results"]
    assert kept["title"] == "Shared"
    for table in ("pages", "documents", "attempts", "items", "jobs"):
        rows = await reading.engine.query(f"SELECT count(*) AS n FROM {table}")
        assert rows[0].n == 1, table
    assert await reading.engine.query("SELECT * FROM events WHERE job_id NOT IN "
                                      "(SELECT id FROM jobs)") == []  # fmt: skip


async def test_a_waiting_job_is_purged_at_once(door: Front) -> None:
    job = (await submit(door, "http://example.com/1", "http://example.com/2")).json["job_id"]
    assert (await door.ask("DELETE", f"/jobs/{job}?purge=true")).json["status"] == "PURGED"
    for table in ("visits", "pages", "items", "jobs", "events"):
        assert await door.engine.query(f"SELECT * FROM {table}") == []


async def test_headers_of_a_job_go_to_its_pages_and_nowhere_else(
    reading: Front, site: Site
) -> None:
    url = site.has("/story", story("Secret"), "text/html")
    plain = (await submit(reading, url)).json["job_id"]
    await ended(reading, plain)
    job = (await submit(reading, url, headers={"X-Token": "open"})).json
    assert job["new_articles"] == 1, "with other headers it is another page"
    await ended(reading, job["job_id"])
    assert [headers.get("X-Token") for headers in site.headers] == [None, "open"]


async def test_jobs_are_found_by_tag_name_and_word(door: Front) -> None:
    one = (
        await submit(door, "http://example.com/1", name="Morning news", tags=["news", "eu"])
    ).json
    two = (await submit(door, "http://example.com/2", name="Evening news", tags=["news"])).json
    await door.submit("http://example.com/3")

    async def found(query: str) -> list[str]:
        listed = (await door.get(f"/jobs/?{query}")).json["jobs"]
        return [job.get("job_id") or job["id"] for job in listed]

    assert await found("tag=news") == [two["job_id"], one["job_id"]]
    assert await found("tag=eu") == [one["job_id"]]
    assert await found("q=evening") == [two["job_id"]]
    assert await found("tag=news&q=MORNING") == [one["job_id"]]
    assert await found("tag=none") == []
    await door.delete(f"/jobs/{one['job_id']}")
    assert await found("status_filter=CANCELLED") == [one["job_id"]]
    assert await found("tag=news&status_filter=IN_PROGRESS") == [two["job_id"]]
    [job] = (await door.get("/jobs/?tag=eu")).json["jobs"]
    assert (job["name"], job["tags"]) == ("Morning news", ["eu", "news"])


async def test_the_same_key_gives_the_same_job(door: Front) -> None:
    body = {"articles": [{"url": "http://example.com/1"}]}
    headers = {"Idempotency-Key": "k1"}
    first = await door.ask("POST", "/jobs/submit", json=body, headers=headers)
    again = await door.ask("POST", "/jobs/submit", json=body, headers=headers)
    assert first.json == again.json
    assert again.headers["idempotent-replayed"] == "true"
    other = {"articles": [{"url": "http://example.com/2"}]}
    refused = await door.ask("POST", "/jobs/submit", json=other, headers=headers)
    assert_problem(refused, 422, "bad_request")


PAGE = {"url": "http://example.com/"}


@pytest.mark.parametrize(
    "body",
    [
        {}, {"articles": []}, {"articles": PAGE}, {"articles": [{}]}, {"articles": ["http://a/"]},
        {"articles": [PAGE], "unknown": 1}, {"articles": [PAGE | {"unknown": 1}]},
        {"articles": [PAGE, PAGE]}, {"articles": [PAGE, {"url": "http://EXAMPLE.com:80"}]},
        {"articles": [PAGE | {"priority": 0}]}, {"articles": [PAGE | {"priority": "1"}]},
        {"articles": [{"url": "not a url"}]}, {"articles": [{"url": 7}]},
        {"articles": [PAGE], "max_age": -1}, {"articles": [PAGE], "tags": [""]},
        {"articles": [PAGE], "tags": ["x"] * 21}, {"articles": [PAGE], "name": "x" * 301},
        {"articles": [PAGE], "headers": {"Host": "b"}},
        {"articles": [PAGE], "headers": {"a b": "c"}},
        {"articles": [PAGE], "headers": {"X-A": "b\r\nc: d"}},
        {"articles": [PAGE], "dry_run": "yes"}, {"articles": [PAGE], "finish_by": "soon"},
        {"articles": [PAGE], "finish_by": "2020-01-01T00:00:00Z"},
        {"articles": [PAGE], "finish_by": "2040-01-01T00:00:00"},
    ],
)  # fmt: skip
async def test_what_is_wrong_is_refused_and_leaves_nothing(plain_door: Front, body: Any) -> None:
    assert_problem(await plain_door.ask("POST", "/jobs/submit", json=body), 422, "bad_request")
    assert (await plain_door.get("/jobs")).json["total"] == 0


async def test_all_problems_are_named_at_once(plain_door: Front) -> None:
    urls = ["ftp://a.example/", "http://a.example/", "http://a.example/#x", "http://10.0.0.1:1/x"]
    answer = await submit(plain_door, *urls)
    assert_problem(answer, 422, "bad_request")
    for number in (1, 3):
        assert f"URL {number} " in answer.json["detail"]


async def test_more_urls_than_may_be_are_refused(plain_door: Front) -> None:
    answer = await submit_many(plain_door, 100_001)
    assert_problem(answer, 422, "bad_request")
    assert "100000" in answer.json["detail"]


async def test_as_many_as_may_be_are_taken_in_time(door: Front) -> None:
    answer = await submit_many(door, 100_000)
    assert (answer.status, answer.json["new_articles"]) == (201, 100_000)


async def submit_many(door: Front, number: int) -> Answer:
    urls = [{"url": f"http://{n % 100}.example.com/{n}"} for n in range(number)]
    body = io.BytesIO(json.dumps({"articles": urls}).encode())
    headers = {"Content-Type": "application/json"}
    return await door.ask("POST", "/jobs/submit", data=body, headers=headers)


async def test_a_reserved_word_is_no_job(plain_door: Front) -> None:
    for method in ("GET", "DELETE"):
        answer = await plain_door.ask(method, "/jobs/submit")
        assert_problem(answer, 405, "method_not_allowed")
        assert answer.headers["allow"] == "POST"
