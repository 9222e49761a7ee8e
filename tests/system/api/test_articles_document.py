"""The articles document at the API: its own examples, at its own times, compared field by field."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import connect

from api.front import Answer, assert_problem
from api.stage import WORDS, Stage, instant, same, story
from support.patience import PATIENCE

NOT_YET: list[tuple[str, str]] = []
"""What of this document answers 501, with the part that will remove it. Only ever taken from."""
OPERATIONS = [
    ("POST", "/jobs/submit"),
    ("GET", "/jobs/{job_id}/status"),
    ("GET", "/jobs/{job_id}/results"),
    ("DELETE", "/jobs/{job_id}"),
    ("GET", "/jobs/"),
    ("GET", "/docs"),
]
SUBMIT: dict[str, Any] = {
    "articles": [
        {"url": "https://example.com/article1", "source": "TechNews", "category": "AI",
         "priority": 1},
        {"url": "https://example.com/article2", "source": "TechNews", "category": "ML",
         "priority": 2},
    ]
}  # fmt: skip
USAGE: dict[str, Any] = {
    "articles": [
        {"url": "https://www.bbc.com/news/technology", "source": "BBC", "category": "Technology",
         "priority": 1},
        {"url": "https://techcrunch.com/", "source": "TechCrunch", "category": "Tech News",
         "priority": 2},
    ]
}  # fmt: skip
FIRST, SECOND = (article["url"] for article in SUBMIT["articles"])
TEN = [f"https://example.com/article{n}" for n in range(1, 11)]
SAMPLE = Path(__file__).parents[3] / "sample_articles.json"


def ten(*labelled: dict[str, Any]) -> dict[str, Any]:
    """Ten articles, with the document's labels where it has some."""
    known = {article["url"]: article for article in labelled}
    return {"articles": [known.get(url, {"url": url}) for url in TEN]}


async def submit(stage: Stage, body: dict[str, Any] = SUBMIT) -> Answer:
    return await stage.door.ask("POST", "/jobs/submit", json=body)


async def job_of(stage: Stage, body: dict[str, Any]) -> str:
    answer = await submit(stage, body)
    assert answer.status == 201, answer
    return str(answer.json["job_id"])


async def test_nothing_of_this_document_is_still_to_be_built(stage: Stage) -> None:
    job = await job_of(stage, SUBMIT)
    for method, path in OPERATIONS:
        url = stage.door.url + path.format(job_id=job)
        async with stage.door.session.request(method, url, json=USAGE) as reply:
            later = [operation for operation, _part in NOT_YET]
            assert (reply.status == 501) == (f"{method} {path}" in later)
            assert reply.status < 300 or reply.status == 501


@pytest.mark.parametrize("body", [SUBMIT, USAGE], ids=["the request", "the usage example"])
async def test_a_submit_answers_as_shown(stage: Stage, body: dict[str, Any]) -> None:
    answer = await submit(stage, body)
    assert answer.status == 201
    assert len(answer.json["job_id"]) == len("job_a1b2c3d4e5f6")
    assert answer.json == {
        "job_id": answer.json["job_id"], "status": "IN_PROGRESS", "total_articles": 2,
        "new_articles": 2, "cached_articles": 0, "message": "Job submitted successfully",
    }  # fmt: skip


async def test_the_sample_file_is_taken_as_it_is(stage: Stage) -> None:
    async with stage.door.session.post(
        f"{stage.door.url}/jobs/submit", data=SAMPLE.read_bytes(),
        headers={"Content-Type": "application/json"},
    ) as reply:  # fmt: skip
        assert reply.status == 201
        assert (await reply.json())["total_articles"] == 10


@pytest.mark.parametrize(
    "urls", [["not-a-url"], [FIRST, FIRST]], ids=["invalid URL", "the same URL twice"]
)
async def test_what_the_document_refuses_is_422(stage: Stage, urls: list[str]) -> None:
    answer = await submit(stage, {"articles": [{"url": url} for url in urls]})
    assert_problem(answer, 422, "bad_request")


async def test_the_status_of_the_example(stage: Stage) -> None:
    """Ten articles: seven are done, one failed, two wait; five minutes after the submit."""
    stage.script.pages = {url: story("A story") for url in TEN if not url.endswith("e5")}
    stage.at("2024-02-04T10:30:00Z")
    job = await job_of(stage, ten())
    stage.at("2024-02-04T10:35:00Z")
    await stage.fetch(*TEN[:8])
    answer = await stage.door.get(f"/jobs/{job}/status")
    assert answer.status == 200
    same(answer.json, {
        "job_id": job, "status": "IN_PROGRESS", "total_articles": 10, "completed": 7, "failed": 1,
        "pending": 2, "created_at": "2024-02-04T10:30:00Z", "updated_at": "2024-02-04T10:35:00Z",
    })  # fmt: skip


async def test_the_results_of_the_example(stage: Stage) -> None:
    """The second article was stored three days before; the fifth is not there."""
    stage.script.pages = {url: story("A story") for url in TEN if not url.endswith("e5")} | {
        FIRST: story("Understanding Large Language Models"),
        SECOND: story("Deep Learning Fundamentals"),
    }
    stage.at("2024-02-01T08:15:00Z")
    await job_of(stage, {"articles": [SUBMIT["articles"][1]]})
    await stage.fetch(SECOND)
    stage.at("2024-02-04T10:30:00Z")
    job = await job_of(stage, ten(*SUBMIT["articles"]))
    stage.at("2024-02-04T10:32:00Z")
    await stage.fetch(FIRST)
    stage.at("2024-02-04T10:33:00Z")
    await stage.fetch()

    answer = (await stage.door.get(f"/jobs/{job}/results")).json
    same(answer, {"job_id": job, "status": "COMPLETED", "total_articles": 10, "successful": 9,
                  "failed": 1})  # fmt: skip
    first, second, *_others = answer["results"]
    same(first, {
        "url": FIRST, "source": "TechNews", "category": "AI", "cached": False,
        "title": "Understanding Large Language Models", "scraped_at": "2024-02-04T10:32:00Z",
    })  # fmt: skip
    same(second, {
        "url": SECOND, "source": "TechNews", "category": "ML", "cached": True,
        "title": "Deep Learning Fundamentals", "scraped_at": "2024-02-01T08:15:00Z",
    })  # fmt: skip
    for result in (first, second):
        assert result["article_id"].startswith("art_")
        assert WORDS.strip() in result["content"]
    [failed] = answer["failed_articles"]
    same(failed, {"url": TEN[4], "attempted_at": "2024-02-04T10:33:00Z"})
    assert "404 Not Found" in failed["error"]


async def test_cancelling_the_example(stage: Stage) -> None:
    stage.script.pages = {url: story("A story") for url in TEN}
    job = await job_of(stage, ten())
    await stage.fetch(*TEN[:5])
    answer = await stage.door.delete(f"/jobs/{job}")
    assert (answer.status, answer.json) == (200, {
        "job_id": job, "status": "CANCELLED", "message": "Job cancelled. Removed 5 pending tasks.",
    })  # fmt: skip


async def test_what_cannot_be_cancelled_is_told_as_the_document_says(stage: Stage) -> None:
    stage.script.pages = {FIRST: story("One"), SECOND: story("Two")}
    job = await job_of(stage, SUBMIT)
    await stage.fetch()
    assert_problem(await stage.door.delete(f"/jobs/{job}"), 400, "wrong_state")
    for method, path in (("GET", "/status"), ("GET", "/results"), ("DELETE", "")):
        unknown = await stage.door.ask(method, f"/jobs/job_a1b2c3d4e5f6{path}")
        assert_problem(unknown, 404, "not_found")


async def test_the_list_of_the_usage_example(stage: Stage) -> None:
    stage.script.pages = {FIRST: story("One"), SECOND: story("Two")}
    stage.at("2024-02-04T10:30:00Z")
    done = await job_of(stage, SUBMIT)
    await stage.fetch()
    await job_of(stage, USAGE)
    answer = (await stage.door.get("/jobs/?status_filter=COMPLETED&limit=10")).json
    [listed] = answer.pop("jobs")
    assert answer == {"total": 1, "total_is_capped": False, "limit": 10, "skip": 0}
    same(listed, {"job_id": done, "status": "COMPLETED", "total_articles": 2, "completed": 2,
                  "created_at": "2024-02-04T10:30:00Z"})  # fmt: skip
    counts = {
        word: (await stage.door.get(f"/jobs/?status_filter={word}")).json["total"]
        for word in ("PENDING", "IN_PROGRESS", "COMPLETED", "FAILED", "CANCELLED")
    }
    assert counts == {"PENDING": 0, "IN_PROGRESS": 1, "COMPLETED": 1, "FAILED": 0, "CANCELLED": 0}
    skipped = (await stage.door.get("/jobs/?skip=1")).json
    assert ([job["job_id"] for job in skipped["jobs"]], skipped["limit"]) == ([done], 50)


@pytest.mark.parametrize("path", ["/ws", "/ws/jobs/{job_id}"])
async def test_the_message_on_a_websocket(stage: Stage, path: str) -> None:
    stage.script.pages = {url: story("A story") for url in TEN}
    job = await job_of(stage, ten())
    place = "0" if "{" in path else "0-0"
    url = stage.door.url.replace("http://", "ws://") + path.format(job_id=job)
    async with asyncio.timeout(PATIENCE), connect(f"{url}?after={place}") as socket:
        await stage.fetch(*TEN[:5])
        message = json.loads(await socket.recv())
        while message["completed"] < 5:
            message = json.loads(await socket.recv())
        assert message["article_id"].startswith("art_")
        same(message, {"type": "job_update", "job_id": job, "status": "IN_PROGRESS",
                       "completed": 5, "failed": 0, "total": 10})  # fmt: skip
        await stage.fetch()
        while message["status"] != "COMPLETED":
            message = json.loads(await socket.recv())
    assert message["completed"] == 10


async def test_priorities_go_in_the_documents_order(stage: Stage) -> None:
    """High before medium before low, whatever the order in the request."""
    urls = {priority: f"https://example.com/{priority}" for priority in (9, 1, 5)}
    await job_of(stage, {"articles": [{"url": u, "priority": p} for p, u in urls.items()]})
    assert [visit.url for visit in await stage.waiting()] == [urls[1], urls[5], urls[9]]


async def test_a_moment_is_written_as_the_document_writes_it(stage: Stage) -> None:
    stage.at("2024-02-04T10:30:00Z")
    job = await job_of(stage, SUBMIT)
    created = (await stage.door.get(f"/jobs/{job}/status")).json["created_at"]
    assert instant(created) == instant("2024-02-04T10:30:00Z")
    assert created.endswith("Z")
