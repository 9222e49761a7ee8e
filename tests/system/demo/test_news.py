"""The practice newspaper: every page that it names is there, and some are odd on purpose."""

import re

import pytest

from curtsy.demo import news
from curtsy.demo.plans import Place
from curtsy.demo.site_pages import plan
from curtsy.model.outcome import Failed, Record, Reply
from curtsy.scrapers import load

HERE = Place("127.0.1.1", 8080, 1)
ODD = {16: "extract_failed", 18: "gone"}


def body(path: str) -> bytes:
    made = plan(HERE, path).answer
    assert made.status == 200, path
    return made.body


@pytest.mark.parametrize("path", ["/news/", *(f"/news/{s}/" for s in news.SECTIONS)])
def test_every_link_leads_to_a_page(path: str) -> None:
    links = re.findall(rb"href=([^> ]+)", body(path))
    assert len(links) > 4
    for link in links:
        assert plan(HERE, link.decode()).answer.status == 200


def test_sitemap_and_feed_name_every_story() -> None:
    for path, tag in (("/news/sitemap.xml", "loc"), ("/news/feed.xml", "link")):
        found = re.findall(rf"<{tag}>http://127.0.1.1:8080(/[^<]+)", body(path).decode())
        assert found == [story.path for story in news.STORIES]


@pytest.mark.parametrize("story", news.STORIES, ids=lambda story: story.slug)
def test_every_story_is_an_article_but_for_those_that_are_not(story: news.Story) -> None:
    made = plan(HERE, story.path).answer
    kind = re.search(rb"Content-Type: ([^\r]+)", made.head)
    assert kind is not None
    headers = {"content-type": kind[1].decode()}
    found = load("article")(Reply(200, f"http://127.0.1.1{story.path}", headers, made.body, 0))
    if story.number in ODD:
        assert isinstance(found, Failed)
        assert found.kind == ODD[story.number]
    else:
        assert isinstance(found, Record)
        assert story.title.encode() in found.content


def test_some_refuse_at_first() -> None:
    refused = {plan(HERE, s.path).turn(0).status for s in news.STORIES}
    assert refused == {200, 429, 500}
    assert {plan(HERE, s.path).turn(1).status for s in news.STORIES} == {200}


@pytest.mark.parametrize("path", ["/news/x", "/news/harbour", "/news/harbour/x", "/news/private/"])
def test_anything_else_is_not_found(path: str) -> None:
    assert plan(HERE, path).answer.status == 404


@pytest.mark.parametrize(
    ("path", "kind"),
    [(news.SHELL, "needs_javascript"), (news.LOGIN, "login_required"), (news.PAID, None)],
)
def test_walls_are_what_they_say(path: str, kind: str | None) -> None:
    found = load("article")(Reply(200, f"http://127.0.1.1{path}", {}, body(path), 0))
    assert (found.kind if isinstance(found, Failed) else None) == kind
    assert kind is not None or (isinstance(found, Record) and b'"paywall":true' in found.content)


def test_the_members_page_leads_to_the_login() -> None:
    head = plan(HERE, news.MEMBERS).answer.head
    assert f"Location: {news.LOGIN}?next=".encode() in head
    assert plan(HERE, f"{news.LOGIN}?next={news.MEMBERS}").answer.status == 200
