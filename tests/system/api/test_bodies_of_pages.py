"""Articles and URLs with a method and a body: what the doors take, and what they refuse."""

from typing import Any

import pytest

from api.front import Front, assert_problem, front
from curtsy.clock import Clock
from curtsy.politeness.policy import Policy
from curtsy.store import Store
from support.engine import engine, settings
from support.posts import PostSite

QUICK = settings(Policy(min_delay=0, max_retries=0, retry_base=10))
URL = "https://shop.example/search"


async def test_articles_with_bodies_are_pages_of_their_own(plain_door: Front) -> None:
    articles = [
        {"url": URL}, {"url": URL, "method": "POST"}, {"url": URL, "json": {"q": 1}},
        {"url": URL, "json": {"q": 2}}, {"url": URL, "form": {"q": "1"}},
        {"url": URL, "method": "PUT", "body": "1"},
        {"url": URL, "json": {"q": 1}, "idempotent": True},
    ]  # fmt: skip
    made = await plain_door.ask("POST", "/jobs/submit", json={"articles": articles})
    assert (made.status, made.json["new_articles"]) == (201, 7)
    twice = [articles[2], articles[2]]
    refused = await plain_door.ask("POST", "/jobs/submit", json={"articles": twice})
    assert_problem(refused, 422, "bad_request")
    assert "is the same page as URL 1" in str(refused.json)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"method": "DELETE"}, "'GET', 'POST' or 'PUT'"),
        ({"method": "GET", "body": "x"}, "A GET has no body"),
        ({"json": {}, "form": {}}, "one body, not json and form"),
        ({"json": "text"}, "valid"),
        ({"body": "é" * 40_000}, "takes 80000 bytes, and at most 65536"),
        ({"form": {"a": "x" * 70_000}}, "at most 65536"),
        ({"body": "x", "content_type": "text/plain\r\nX-Mine: 1"}, "content type"),
        ({"body": "x", "content_type": "plain"}, "content type"),
        ({"json": {}, "content_type": "text/plain"}, "content_type belongs to body"),
        ({"idempotent": True}, "belongs to a POST"),
        ({"method": "PUT", "idempotent": True}, "belongs to a POST"),
    ],
)
async def test_a_body_that_makes_no_sense_is_refused_with_a_sentence(
    plain_door: Front, fields: dict[str, Any], said: str
) -> None:
    article = {"url": URL} | fields
    for path, body in (("/jobs/submit", {"articles": [article]}), ("/jobs", article)):
        refused = await plain_door.ask("POST", path, json=body)
        assert_problem(refused, 422, "bad_request")
        assert said in str(refused.json), path


async def test_the_fetch_door_sends_a_body_and_returns_the_answer(
    store: Store, clock: Clock
) -> None:
    whole = engine(store, clock)
    async with PostSite() as site, front(store, whole) as door, whole.worker(QUICK):
        body = {"url": site.url("/search"), "json": {"q": "tea"}}
        made = await door.ask("POST", "/jobs", json=body)
        await whole.ended(made.json["id"])
        assert (await door.get(f"/jobs/{made.json['id']}")).json["content"] == "done"
    [heard] = site.heard
    assert (heard.method, heard.body) == ("POST", b'{"q":"tea"}')
    assert heard.headers["content-type"] == "application/json"


async def test_the_same_key_with_another_body_is_another_request(plain_door: Front) -> None:
    key = {"Idempotency-Key": "one"}
    for path, of in (("/jobs", lambda one: one), ("/jobs/submit", lambda one: {"articles": [one]})):
        ask = {"headers": key | {"Idempotency-Key": path}}
        first = await plain_door.ask("POST", path, json=of({"url": URL, "json": {"q": 1}}), **ask)
        again = await plain_door.ask("POST", path, json=of({"url": URL, "json": {"q": 1}}), **ask)
        other = await plain_door.ask("POST", path, json=of({"url": URL, "json": {"q": 2}}), **ask)
        assert first.status == again.status == 201
        assert first.json == again.json
        assert other.status == 422
