"""Headers and webhook URLs of schedules: stored to be sent, shown to nobody, kept by a change."""

from typing import Any

import pytest

from api.front import Front, assert_problem
from api.visitors import Visitor, visitor
from curtsy.model.roles import Role

SECRETS = ("Bearer-hush", "hook-hush", "path-hush")
HEADERS = {"Authorization": "Bearer-hush", "X-Plain": "Bearer-hush too"}
SHOWN_HEADERS = {"Authorization": "***", "X-Plain": "***"}
HOOK = "https://hooks.example:8443/path-hush?token=hook-hush"
SHOWN_HOOK = "https://hooks.example:8443/***"
URL = "https://a.example/1"
PAYLOADS: dict[str, dict[str, Any]] = {
    "articles": {"articles": [{"url": URL}], "headers": HEADERS, "webhook_url": HOOK},
    "crawl": {"spider": "raw", "start_urls": [URL], "params": {"headers": HEADERS},
              "webhook_url": HOOK},
    "fetch": {"url": URL, "webhook_url": HOOK},
}  # fmt: skip


async def made(by: Visitor, door: str) -> Any:
    body = {"name": door, "cron": "30 2 * * *", "payload": {door: PAYLOADS[door]}}
    answer = await by.ask("POST", "/schedules", json=body)
    assert answer.status == 201, answer
    return answer.json


async def stored(front: Front) -> str:
    [row] = await front.engine.query("SELECT payload FROM schedules")
    return str(row.payload)


def assert_masked(answer: Any) -> None:
    assert not [secret for secret in SECRETS if secret in str(answer)], answer


@pytest.mark.parametrize("door", PAYLOADS)
async def test_no_answer_shows_them_to_anyone(plain_door: Front, door: str) -> None:
    owner = await visitor(plain_door, "ann")
    shown = await made(owner, door)
    path = f"/schedules/{shown['id']}"
    answers = [shown]
    for role in Role:
        for user in ("ann", "bob"):
            caller = await visitor(plain_door, user, role)
            answers += [(await caller.get("/schedules")).json, (await caller.get(path)).json]
    answers.append((await owner.ask("PATCH", path, json={"overlap": "allow"})).json)
    answers += [(await owner.ask("POST", f"{path}/{word}")).json for word in ("pause", "resume")]
    assert_masked(answers)
    assert shown["payload"][door]["webhook_url"] == SHOWN_HOOK
    work = shown["payload"][door]
    assert door == "fetch" or (work | work.get("params", {}))["headers"] == SHOWN_HEADERS


@pytest.mark.parametrize("door", PAYLOADS)
async def test_a_change_that_sends_the_masks_back_keeps_what_is_stored(
    plain_door: Front, door: str
) -> None:
    owner = await visitor(plain_door, "ann")
    shown = await made(owner, door)
    before = await stored(plain_door)
    path = f"/schedules/{shown['id']}"
    changed = await owner.ask("PATCH", path, json={"payload": shown["payload"]})
    assert changed.status == 200, changed
    assert await stored(plain_door) == before
    assert "***" not in before


async def test_a_new_value_replaces_the_stored_one(plain_door: Front) -> None:
    owner = await visitor(plain_door, "ann")
    shown = await made(owner, "articles")
    payload = shown["payload"]
    payload["articles"] |= {"headers": SHOWN_HEADERS | {"X-Plain": "other"},
                            "webhook_url": "https://new.example/x"}  # fmt: skip
    await owner.ask("PATCH", f"/schedules/{shown['id']}", json={"payload": payload})
    now = await stored(plain_door)
    assert '"Authorization":"Bearer-hush","X-Plain":"other"' in now
    assert "https://new.example/x" in now
    assert "hook-hush" not in now


@pytest.mark.parametrize(
    ("door", "changes"),
    [
        ("articles", {"articles": [{"url": "https://evil.example/"}]}),
        ("articles", {"articles": [{"url": URL.replace("https", "http")}]}),
        ("articles", {"articles": [{"url": URL.replace(".example", ".example:444")}]}),
        ("articles", {"headers": {"X-New": "***"}}),
        ("crawl", {"start_urls": [URL, "https://evil.example/"]}),
        ("crawl", {"params": {"headers": SHOWN_HEADERS, "scope": "domain"}}),
        ("fetch", {"webhook_url": "https://evil.example:8443/***"}),
    ],
)
async def test_a_mask_is_refused_where_no_secret_is_behind_it_or_it_would_go_elsewhere(
    plain_door: Front, door: str, changes: dict[str, Any]
) -> None:
    """Who may not read a secret must not be able to send it to a server of their own."""
    shown = await made(await visitor(plain_door, "ann"), door)
    before = await stored(plain_door)
    operator = await visitor(plain_door, "bob", Role.OPERATE)
    payload = {door: shown["payload"][door] | changes}
    answer = await operator.ask("PATCH", f"/schedules/{shown['id']}", json={"payload": payload})
    assert_problem(answer, 422, "bad_request")
    assert "***" in answer.json["detail"]
    assert await stored(plain_door) == before


@pytest.mark.parametrize("door", PAYLOADS)
async def test_a_mask_is_never_stored_as_a_secret(plain_door: Front, door: str) -> None:
    owner = await visitor(plain_door, "ann")
    shown = await made(owner, door)
    body = {"name": "copy", "cron": "30 2 * * *", "payload": shown["payload"]}
    assert_problem(await owner.ask("POST", "/schedules", json=body), 422, "bad_request")
    paths = {"articles": "/jobs/submit", "crawl": "/crawl", "fetch": "/jobs"}
    job = await owner.ask("POST", paths[door], json=shown["payload"][door])
    assert_problem(job, 422, "bad_request")
    [row] = await plain_door.engine.query("SELECT count(*) AS jobs FROM jobs")
    assert row.jobs == 0
