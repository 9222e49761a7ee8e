"""The fetch document at the API: its own examples, compared field by field."""

from typing import Any

import pytest

from api.front import assert_problem
from api.stage import Stage, same

NOT_YET: list[tuple[str, str]] = []
"""What of this document answers 501, with the part that will remove it. Only ever taken from."""
OPERATIONS = [("POST", "/jobs"), ("GET", "/jobs/{id}")]
ASKED = {"url": "https://google.com/"}
PAGE = b"<html><title>Search</title><p>What are you looking for?</p></html>"


async def created(stage: Stage) -> Any:
    """As the document's line for curl sends it."""
    async with stage.door.session.post(
        f"{stage.door.url}/jobs", data=b'{"url":"https://google.com/"}',
        headers={"Content-type": "application/json"},
    ) as reply:  # fmt: skip
        assert reply.status == 201
        return reply.headers["Location"], await reply.json()


async def test_nothing_of_this_document_is_still_to_be_built(stage: Stage) -> None:
    place, _ = await created(stage)
    for method, path in OPERATIONS:
        answer = await stage.door.ask(method, path.format(id=place.split("/")[-1]), json=ASKED)
        later = [operation for operation, _part in NOT_YET]
        assert (answer.status == 501) == (f"{method} {path}" in later)
        assert answer.status < 300 or answer.status == 501


async def test_a_job_is_created_as_shown(stage: Stage) -> None:
    place, body = await created(stage)
    assert body == {"id": body["id"], "url": "https://google.com/", "status": "queued"}
    assert place == f"/jobs/{body['id']}"
    shown = await stage.door.get(place)
    assert shown.status == 200
    same(shown.json, body)
    assert not {"content", "error"} & shown.json.keys()


async def test_a_completed_job_has_the_content(stage: Stage) -> None:
    stage.script.pages[ASKED["url"]] = PAGE
    place, body = await created(stage)
    await stage.fetch()
    shown = (await stage.door.get(place)).json
    same(shown, {"id": body["id"], "url": "https://google.com/", "status": "completed",
                 "content": PAGE.decode()})  # fmt: skip
    assert "error" not in shown


async def test_an_answer_other_than_200_is_an_error_with_a_description(stage: Stage) -> None:
    place, body = await created(stage)
    await stage.fetch()
    shown = (await stage.door.get(place)).json
    same(shown, {"id": body["id"], "url": "https://google.com/", "status": "error",
                 "error": "The host answered 404 Not Found."})  # fmt: skip
    assert "content" not in shown


@pytest.mark.parametrize("name", ["6-1q2JI1TZeoDiZbSoMjfg", "job_000000000000"])
async def test_a_job_that_is_not_there(stage: Stage, name: str) -> None:
    assert_problem(await stage.door.get(f"/jobs/{name}"), 404, "not_found")
