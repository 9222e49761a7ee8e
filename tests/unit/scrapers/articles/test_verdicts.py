"""What stands in front of an article is told apart: a login, a paywall, a page of scripts."""

import orjson
import pytest

from curtsy.model.outcome import Failed, Record, Reply
from curtsy.scrapers.article import article
from support import wall_pages
from support.wall_pages import ALL, ARTICLE, LOGIN, NEGATIVES, SCRIPT, TEASER, WallPage

pytestmark = pytest.mark.filterwarnings("ignore")  # what libraries say of damaged pages


def outcome_of(page: WallPage) -> Record | Failed:
    body = page.html.encode()
    headers = {"content-type": "text/html; charset=utf-8"}
    return article(Reply(200, page.url, headers, body, len(body), asked_url=page.asked_url))


def failure_of(page: WallPage) -> str:
    outcome = outcome_of(page)
    assert isinstance(outcome, Failed)
    return outcome.error


def verdict_of(page: WallPage) -> str:
    outcome = outcome_of(page)
    if isinstance(outcome, Failed):
        return outcome.kind
    return TEASER if orjson.loads(outcome.content)["paywall"] else ARTICLE


@pytest.mark.parametrize("page", ALL, ids=lambda page: page.name)
def test_each_page_of_the_corpus_has_its_verdict(page: WallPage) -> None:
    assert verdict_of(page) == page.verdict


def test_the_corpus_is_as_large_as_it_says() -> None:
    assert len(ALL) >= 60
    assert len({page.name for page in ALL}) == len(ALL)
    assert sum(page.verdict == ARTICLE for page in NEGATIVES) >= 15


def named(name: str) -> WallPage:
    return next(page for page in ALL if page.name == name)


def test_the_sentence_counts_the_words() -> None:
    assert failure_of(named("svelte, with a footer")) == (
        "This page needs JavaScript: its HTML has 4 words of text."
    )
    assert failure_of(named("nothing but scripts")).endswith("has 0 words of text.")


def test_the_sentence_shows_where_the_login_is_but_no_token() -> None:
    assert failure_of(named("redirected to /login")) == (
        "The site asks for a login: the page led to https://paper.example/login."
    )
    assert "client=7" not in failure_of(named("redirected to another host"))


def test_a_page_without_redirect_is_judged_by_what_is_on_it() -> None:
    page = named("redirected to /login")
    assert verdict_of(page._replace(asked_url=page.url)) != LOGIN
    assert verdict_of(page._replace(asked_url="")) != LOGIN


def test_the_text_of_a_teaser_is_kept() -> None:
    outcome = outcome_of(named("cut off, English"))
    assert isinstance(outcome, Record)
    assert orjson.loads(outcome.content)["text"].startswith("The town council met")


def test_a_body_in_the_data_is_the_article() -> None:
    outcome = outcome_of(named("a body in the data"))
    assert isinstance(outcome, Record)
    assert orjson.loads(outcome.content)["text"] == wall_pages.EN.strip() + " " + (
        wall_pages.EN.strip() + " " + wall_pages.EN.strip()
    )


def test_a_body_in_the_data_is_not_taken_from_behind_a_paywall() -> None:
    body = wall_pages.data(articleBody=f'"{wall_pages.EN * 9}"', isAccessibleForFree="false")
    page = WallPage("", wall_pages.page(f"<article><p>{wall_pages.EN}</p></article>", body), TEASER)
    outcome = outcome_of(page)
    assert isinstance(outcome, Record)
    assert orjson.loads(outcome.content)["text"] == wall_pages.EN.strip()


@pytest.mark.parametrize("body", ["<p>One.</p><p>Two &amp; more.</p>", "One.\n\nTwo & more."])
def test_a_body_in_the_data_has_its_paragraphs(body: str) -> None:
    text = body.replace("One.", f"One. {wall_pages.EN}{wall_pages.EN}")
    stated = wall_pages.data(articleBody=orjson.dumps(text).decode())
    page = WallPage("", wall_pages.page(f"<div id=root></div>{wall_pages.BUNDLE}", stated), ARTICLE)
    outcome = outcome_of(page)
    assert isinstance(outcome, Record)
    parts = orjson.loads(outcome.content)
    assert parts["text"].split("\n")[1] == "Two & more."
    assert parts["markdown"].count("\n\n") == 1


def test_a_shell_of_many_scripts_and_words_in_menus_is_one() -> None:
    menu = "<nav>" + "<a href=/x>Section of the paper</a>" * 200 + "</nav>"
    shell = f"{menu}<div id=root></div>{wall_pages.BUNDLE}"
    assert verdict_of(WallPage("", wall_pages.page(shell), SCRIPT)) == SCRIPT
