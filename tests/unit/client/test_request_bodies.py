"""A single text is one URL or one word for the client, never a list of letters."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from curtsy.client.request_bodies import articles, as_json, crawl, schedule

URL = "http://a.example/1"


def start(urls: Any, **more: Any) -> dict[str, Any]:
    return crawl(urls, spider="article", depth=0, more=more)


@pytest.mark.parametrize("given", [URL, [URL], (URL,), iter([URL]), {"url": URL}, [{"url": URL}]])
def test_one_page_is_one_page_however_it_is_given(given: Any) -> None:
    assert articles(given, {})["articles"] == [{"url": URL}]


@pytest.mark.parametrize("given", [URL, [URL], (URL,), iter([URL]), {URL}])
def test_one_start_url_is_one_start_url_however_it_is_given(given: Any) -> None:
    assert start(given)["start_urls"] == [URL]


def test_one_word_is_a_list_of_one_wherever_a_list_is_taken() -> None:
    assert articles(URL, {"tags": "news"})["tags"] == ["news"]
    assert articles(URL, {"tags": ("news", "daily")})["tags"] == ["news", "daily"]
    body = start(URL, tags="news", include="*/blog/*", exclude={"*/tag/*"})
    assert body["tags"] == ["news"]
    assert body["params"] == {"include": ["*/blog/*"], "exclude": ["*/tag/*"]}


def test_one_word_is_a_list_of_one_in_what_a_schedule_requests() -> None:
    wanted = {"spider": "article", "tags": "news", "params": {"include": "*/blog/*"}}
    assert schedule({"name": "n", "payload": {"crawl": wanted}})["payload"]["crawl"] == {
        "spider": "article", "tags": ["news"], "params": {"include": ["*/blog/*"]},
    }  # fmt: skip
    assert schedule({"payload": {"duty": "health"}}) == {"payload": {"duty": "health"}}
    fetch = {"url": URL, "json": {"tags": "a"}}
    assert schedule({"payload": {"fetch": fetch}}) == {"payload": {"fetch": fetch}}


def test_what_stands_inside_a_field_is_not_changed() -> None:
    assert as_json({"json": {"tags": "a", "at": [{"keep": "b"}]}}) == {
        "json": {"tags": "a", "at": [{"keep": "b"}]}
    }
    own = {"rules": [{"match": "*", "keep": False, "follow": True}], "args": {"follow": True},
           "recipe": {"record": "li", "fields": {"tags": "a"}}}  # fmt: skip
    assert start(URL, **own)["params"] == own
    at = datetime(2026, 11, 19, tzinfo=UTC)
    assert as_json({"json": {"at": (at,)}}) == {"json": {"at": ["2026-11-19T00:00:00+00:00"]}}


@pytest.mark.parametrize(
    "refused",
    [
        lambda: articles(b"http://a.example/", {}),
        lambda: articles([b"http://a.example/"], {}),
        lambda: articles([("url", "http://a.example/")], {}),
        lambda: articles(7, {}),
        lambda: start(b"http://a.example/"),
        lambda: start([{"url": URL}]),
        lambda: start(None),
        lambda: articles(URL, {"tags": b"news"}),
    ],
)
def test_what_is_no_text_is_refused_with_a_sentence(refused: Callable[[], Any]) -> None:
    with pytest.raises(TypeError, match=r"(must be|is) (text|a URL).*, not .*\.$"):
        refused()
