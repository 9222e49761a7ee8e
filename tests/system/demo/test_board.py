"""The practice job board: its pages, its editions, and the ways in which it goes wrong."""

import re
from urllib.parse import quote, quote_plus, urlencode

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from curtsy.demo.board import parse_search
from curtsy.demo.plans import Place
from curtsy.demo.postings import LAST_EDITION, difference, edition, matching
from curtsy.demo.site_pages import plan

HERE = Place("127.0.1.1", 8080, 1)
OLD_SELECTORS = (
    *("#results", "p.no-results", "li.job", "a.next", "[data-id]", "h2 a", "h2", ".company"),
    *(".location", ".salary", ".remote", "time", ".total", "nav"),
)


def page(target: str) -> LexborHTMLParser:
    made = plan(HERE, target).answer
    assert made.status == 200, target
    return LexborHTMLParser(made.body)


def ids(tree: LexborHTMLParser) -> list[str | None]:
    return [card.attributes["data-id"] for card in tree.css("#results li.job")]


def walked(target: str | None) -> dict[str, str]:
    """Every posting that the links to the next page lead to, with its salary."""
    listed: dict[str, str] = {}
    while target:
        tree = page(target)
        for card in tree.css("#results li.job"):
            salary = card.css_first(".salary")
            assert salary is not None
            assert card.attributes["data-id"] not in listed
            listed[card.attributes["data-id"] or ""] = salary.text()
        onward = tree.css_first("nav a.next[rel=next]")
        target = onward.attributes["href"] if onward else None
    return listed


def test_a_card_says_all_there_is_to_say() -> None:
    cards = page("/board/search").css("#results li.job")
    assert len(cards) == 10
    for card, posting in zip(cards, edition(0), strict=False):
        [link] = card.css("h2 > a[href]")
        assert link.text() == posting.title
        assert link.attributes["href"] == f"/board/jobs/{posting.id}"
        assert [node.text() for node in card.css(".company")] == [posting.company]
        assert [node.text() for node in card.css(".location")] == [posting.location]
        assert [node.text() for node in card.css(".salary")] == [posting.salary]
        assert re.fullmatch(r"€ \d\d,000 – \d\d,000", posting.salary)
        assert len(card.css(".remote")) == posting.remote
        [time] = card.css("time")
        assert time.attributes["datetime"] == str(posting.posted_on)


@pytest.mark.parametrize("n", [0, 1, 2, 30, LAST_EDITION])
def test_following_the_links_shows_an_edition_once_and_whole(n: int) -> None:
    assert walked(f"/board/{n}/search") == {one.id: one.salary for one in edition(n)}


@pytest.mark.parametrize(("earlier", "later"), [(0, 1), (1, 2), (0, 5), (33, 34)])
def test_two_editions_differ_on_their_pages_as_they_are_said_to(earlier: int, later: int) -> None:
    before, after = walked(f"/board/{earlier}/search"), walked(f"/board/{later}/search")
    said = difference(earlier, later)
    assert after.keys() - before.keys() == said.new
    assert before.keys() - after.keys() == said.removed
    kept = before.keys() & after.keys()
    assert {id_ for id_ in kept if before[id_] != after[id_]} == said.changed


def test_the_board_without_an_edition_is_the_first() -> None:
    assert walked("/board/search") == walked("/board/0/search")


def test_a_posting_has_the_same_address_in_every_edition() -> None:
    for n in (0, 3):
        for posting in edition(n):
            own = page(f"/board/jobs/{posting.id}")
            assert [node.text() for node in own.css("h1")] == [posting.title]
            assert len(own.css(".description p")) == 3


@pytest.mark.parametrize(
    "query",
    [
        *("q=python+developer&l=&remote=false", "q=python%20developer", "q=PYTHON&l=Z%C3%BCrich"),
        *("l=portugal&remote=true", "q=rust+%26+c%2B%2B", "q=caf%C3%A9", "q=&&=&l&remote=maybe"),
    ],
)
def test_a_search_shows_exactly_what_matches_on_all_its_pages(query: str) -> None:
    search = parse_search(query)
    wanted = matching(edition(0), search.words, search.place, search.remote)
    assert wanted
    assert list(walked(f"/board/search?{query}")) == [posting.id for posting in wanted]
    total = page(f"/board/search?{query}").css_first(".total")
    assert total is not None
    assert total.text() == f"{len(wanted)} jobs match"


def test_the_forms_of_a_query_that_mean_the_same_are_read_the_same() -> None:
    assert (
        parse_search("q=a+b&l=%C3%A9")
        == parse_search("l=%c3%a9&q=a%20b")
        == parse_search("q=%20a++b%0a&l=é")
    )
    assert (
        parse_search("")
        == parse_search("page=0")
        == parse_search("page=-3")
        == parse_search("page=two&remote=")
    )
    assert parse_search("page=1&page=4&remote=TRUE").page == 4
    assert parse_search("page=4&remote=TRUE").remote


@pytest.mark.parametrize("words", ["unicorn", '"><li class="job">', "日本語", "%00%ff"])
def test_a_search_that_finds_nothing_says_so_in_an_empty_list(words: str) -> None:
    tree = page(f"/board/search?q={quote(words)}")
    assert len(tree.css("#results")) == 1
    assert tree.css("li.job") == tree.css("a.next") == []
    assert len(tree.css("p.no-results")) == 1


@pytest.mark.parametrize("number", [15, 10**6, 10**40])
def test_a_page_behind_the_end_is_an_empty_list(number: int) -> None:
    assert len(ids(page("/board/search?page=14"))) == 7
    assert page("/board/search?page=14").css("a.next") == []
    tree = page(f"/board/search?page={number}")
    assert len(tree.css("#results")) == len(tree.css("p.no-results")) == 1
    assert tree.css("li.job") == tree.css("a.next") == []


def test_no_selector_survives_the_redesign_though_every_job_does() -> None:
    for query in ("", "q=python+developer&page=2", "q=unicorn"):
        tree = page(f"/board/broken/search?{query}")
        assert [name for name in OLD_SELECTORS if tree.css(name)] == []
        usual = page(f"/board/search?{query}")
        assert [tile.attributes["id"] for tile in tree.css("article.tile")] == ids(usual)
        assert [name.text() for name in tree.css("a.tile-name")] == [
            name.text() for name in usual.css("h2 a")
        ]


def test_on_every_page_of_half_more_than_half_of_the_cards_lack_their_link() -> None:
    for query in (*(f"page={n}" for n in range(1, 15)), "q=go", "q=café+rust"):
        cards = page(f"/board/half/search?{query}").css("#results li.job")
        assert cards
        without = [card for card in cards if not card.css("h2 a")]
        assert len(without) > len(cards) / 2
        assert all(card.css("h2") for card in without)


def test_only_the_second_page_of_flaky_fails_and_it_always_does() -> None:
    for query in ("page=2", "q=python+developer&l=&remote=false&page=2"):
        made = plan(HERE, f"/board/flaky/search?{query}")
        assert [made.turn(earlier).status for earlier in (0, 1, 50)] == [500] * 3
    for number in (1, 3, 14, 15):
        flaky, usual = page(f"/board/flaky/search?page={number}"), f"/board/search?page={number}"
        assert ids(flaky) == ids(page(usual))


def test_the_links_of_a_board_stay_on_it() -> None:
    for name in ("7", "half", "flaky"):
        [onward] = page(f"/board/{name}/search?q=caf%C3%A9+%26&q=a").css("a.next")
        assert onward.attributes["href"] == f"/board/{name}/search?q=a&l=&remote=false&page=2"
    [back] = page("/board/3/search?page=2").css("nav a.previous[rel=prev]")
    assert back.attributes["href"] == "/board/3/search?q=&l=&remote=false&page=1"


def test_the_front_page_leads_to_the_search() -> None:
    [form] = page("/board/").css("form")
    assert form.attributes["action"] == "/board/search"
    assert [one.attributes["name"] for one in form.css("input")] == ["q", "l", "remote"]


@pytest.mark.parametrize(
    "path",
    [
        *("/board", "/board//", "/board/search/", "/board/-1/search", "/board/10000/search"),
        *("/board/x/search", "/board/1/2/search", "/board//search", "/board/jobs/", "/board/jobs"),
        *("/board/jobs/ln1", "/board/²/search", "/board/9999999999999999999999/search"),
    ],
)
def test_anything_else_is_not_found(path: str) -> None:
    assert plan(HERE, path).answer.status == 404


NAMES = st.sampled_from(["q", "l", "remote", "page", "region", "x"])
VALUES = st.text(st.characters(), max_size=30) | st.integers().map(str)
QUERIES = st.one_of(
    st.text(st.characters(), max_size=60),
    st.lists(st.tuples(NAMES, VALUES), max_size=6).map(lambda p: urlencode(p, errors="replace")),
    st.binary(max_size=40).map(lambda raw: f"q={quote_plus(raw)}&l={quote(raw)}&page={quote(raw)}"),
)


@settings(deadline=None)
@given(st.sampled_from(["", "0/", "3/", "broken/", "half/", "flaky/"]), QUERIES)
def test_any_query_gets_a_page(name: str, query: str) -> None:
    made = plan(HERE, f"/board/{name}search?{query}").answer
    if made.status == 500:
        assert (name, parse_search(query).page) == ("flaky/", 2)
        return
    assert made.status == 200
    tree = LexborHTMLParser(made.body)
    assert len(tree.css("#results, .stream")) == 1
    assert len(tree.css("li.job, article.tile")) <= 10
    for onward in tree.css("a.next"):
        href = onward.attributes["href"]
        assert href is not None
        assert href.isascii()
        assert name == "flaky/" or ids(page(href))


@settings(deadline=None)
@given(st.text(st.characters(), max_size=40), QUERIES)
def test_any_path_gets_a_page_or_is_not_found(path: str, query: str) -> None:
    assert plan(HERE, f"/board/{path}?{query}").answer.status in (200, 404)


async def test_every_host_has_the_same_board(client, site) -> None:
    bodies = set()
    for host in range(3):
        async with client.get(site.url(host, "/board/search?q=python+developer&l=")) as reply:
            assert (reply.status, reply.charset) == (200, "utf-8")
            bodies.add(await reply.read())
    assert len(bodies) == 1
