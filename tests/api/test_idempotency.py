import asyncio

from api.front import Front, assert_problem

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
