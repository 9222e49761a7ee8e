import asyncio
from typing import Any

import pytest

from api.front import Answer, Front, assert_problem
from api.visitors import Visitor, visitor

PAGE = "http://example.com/page"


async def test_many_requests_with_one_key_make_one_job(door: Front) -> None:
    answers = await asyncio.gather(*(door.submit(PAGE, key="k-1") for _ in range(20)))
    assert {answer.status for answer in answers} == {201}
    assert len({answer.json["id"] for answer in answers}) == 1
    assert sum("idempotent-replayed" not in answer.headers for answer in answers) == 1
    assert (await door.get("/jobs")).json["total"] == 1


async def test_a_key_stands_for_what_is_asked_not_for_its_spelling(plain_door: Front) -> None:
    first = await plain_door.submit(PAGE, key="k-2")
    again = await plain_door.ask(
        "POST",
        "/jobs/",
        data=b'{ "priority":5, "url":"http://example.com/page" }',
        headers={"Idempotency-Key": "k-2", "Content-Type": "application/json"},
    )
    assert again.json == first.json


async def test_a_key_used_for_another_request_is_refused(plain_door: Front) -> None:
    await plain_door.submit(PAGE, key="k-3")
    answer = await plain_door.submit(PAGE, key="k-3", priority=1)
    assert_problem(answer, 422, "bad_request")
    assert "k-3" in answer.json["detail"]


async def test_without_a_key_every_request_makes_a_job(plain_door: Front) -> None:
    first, second = await plain_door.submit(PAGE), await plain_door.submit(PAGE)
    assert first.json["id"] != second.json["id"]


async def test_a_key_that_is_not_plain_text_is_refused(plain_door: Front) -> None:
    for key in ("", "with space", "é", "k" * 256):
        headers = {"Idempotency-Key": key}
        answer = await plain_door.ask("POST", "/jobs", json={"url": PAGE}, headers=headers)
        assert_problem(answer, 422, "bad_request")


async def crawl(by: Front | Visitor, key: str | None = None, **more: Any) -> Answer:
    body = {"spider": "raw", "start_urls": [PAGE], **more}
    headers = {"Idempotency-Key": key} if key else {}
    return await by.ask("POST", "/crawl", json=body, headers=headers)


@pytest.mark.parametrize("when", [{}, {"schedule_at": "2999-01-01T00:00:00Z"}], ids=str)
async def test_a_crawl_knows_its_key_as_the_other_doors_do(
    door: Front, when: dict[str, str]
) -> None:
    first = await crawl(door, "k", name="one", **when)
    again = await crawl(door, "k", name="one", **when)
    assert again.json["job_id"] == first.json["job_id"]
    assert "idempotent-replayed" not in first.headers
    assert again.headers["idempotent-replayed"] == "true"
    same = await crawl(door, **when)
    assert (same.json["job_id"], same.json["cached"]) == (first.json["job_id"], True)
    assert "idempotent-replayed" not in same.headers, "it is the same without a key"
    for other in ({"name": "two"}, {"ignore_cache": True}):
        assert_problem(await crawl(door, "k", **{"name": "one", **when, **other}), 422,
                       "bad_request")  # fmt: skip


async def test_nobody_can_choose_a_key_that_stands_for_anothers_crawl(guarded: Front) -> None:
    ann, crawler = await visitor(guarded), await visitor(guarded, "crawl")
    job = (await crawl(ann)).json["job_id"]
    [row] = await guarded.engine.query("SELECT key FROM submissions WHERE job = :job", job=job)
    hashed = row.key.removeprefix("crawl:")
    assert hashed != row.key
    taken = await crawler.submit(PAGE, Idempotency_Key=hashed)
    assert (taken.status, taken.json["job_id"] == job) == (201, False)
    assert (await crawl(ann)).json["job_id"] == job
