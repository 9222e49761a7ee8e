"""What the example files say about the replicas is so: every selector finds what it should."""

import re
import tomllib
from pathlib import Path
from typing import Any
from urllib.parse import quote_plus, urljoin, urlsplit

import pytest
from selectolax.lexbor import LexborHTMLParser, LexborNode

from curtsy.demo.addresses import address
from curtsy.demo.countries import COUNTRIES, Office, advisories
from curtsy.demo.plans import Place
from curtsy.demo.postings import edition, matching
from curtsy.demo.site_pages import plan
from curtsy.politeness.robots import robots_of

EXAMPLES = Path(__file__).parents[3] / "src/curtsy/demo/examples"
BOARD = tomllib.loads((EXAMPLES / "jobs/sites.toml").read_text())["job_board"]
TRAVEL = tomllib.loads((EXAMPLES / "travel/sites.toml").read_text())
OFFICES = {
    "us_state_dept": Office.US,
    "uk_foreign_office": Office.UK,
    "canada_travel": Office.CA,
}
Fields = dict[str, str | float | bool | None]


def page(url: str) -> LexborHTMLParser:
    """As the host that the URL names would answer it."""
    parts = urlsplit(url)
    assert parts.hostname in {address(index) for index in range(20)}, "a host that the site has"
    made = plan(Place(parts.hostname, 8000, 20), f"{parts.path}?{parts.query}").answer
    assert made.status == 200, url
    return LexborHTMLParser(made.body)


def value(record: LexborNode, field: dict[str, Any], url: str) -> str | float | bool | None:
    """What one field of a recipe says about one record, read in the plainest way."""
    nodes = record.css(field["css"]) if "css" in field else [record]
    if field.get("kind") == "flag":
        return bool(nodes)
    if not nodes:
        return None
    text = nodes[0].attributes[field["attribute"]] if "attribute" in field else nodes[0].text()
    found = re.search(field.get("pattern", "(?s)(.*)"), text or "")
    assert found is not None
    match field.get("kind"):
        case "number":
            return float(found[1].replace(",", ""))
        case "url":
            return urljoin(url, found[1])
        case _:
            return found[1].strip()


def records(recipe: dict[str, Any], url: str) -> list[Fields]:
    [container] = page(url).css(recipe["list"])
    fields = recipe["fields"].items()
    read = [{name: value(record, field, url) for name, field in fields}
            for record in container.css(recipe["record"])]  # fmt: skip
    assert all(one[name] is not None for one in read for name in recipe["fields"]), "all is there"
    assert len({tuple(one[name] for name in recipe["key"]) for one in read}) == len(read)
    return read


def search_url(number: int, **other: object) -> str:
    asked = {**BOARD["defaults"], "page": number, **other}
    words = {name: str(v).lower() if isinstance(v, bool) else str(v) for name, v in asked.items()}
    return BOARD["search_url"].format(**{name: quote_plus(v) for name, v in words.items()})


def test_the_boards_recipe_reads_every_page_of_its_search() -> None:
    wanted = matching(edition(0), "python developer", "", remote=False)
    read: list[Fields] = []
    for number in range(1, BOARD["max_pages"] + 1):
        url = search_url(number)
        of_page = records(BOARD["recipe"], url)
        read += of_page
        onward = page(url).css(BOARD["recipe"]["next"])
        if not onward:
            break
        assert len(of_page) == BOARD["results_per_page"]
        assert urljoin(url, onward[0].attributes["href"]) == search_url(number + 1)
    assert number > 2, "several pages"
    assert read == [
        {"id": one.id, "title": one.title, "url": f"http://127.0.1.1:8000/board/jobs/{one.id}",
         "company": one.company, "location": one.location, "salary": float(one.lowest),
         "remote": one.remote, "posted": str(one.posted_on)}
        for one in wanted
    ]  # fmt: skip


def test_the_boards_recipe_tells_nothing_found_from_something_found() -> None:
    empty = BOARD["recipe"]["empty"]
    assert page(search_url(1)).css(empty) == []
    assert len(page(search_url(1, search_term="unicorn")).css(empty)) == 1
    assert records(BOARD["recipe"], search_url(1, search_term="unicorn")) == []


def test_the_boards_recipe_can_ask_for_remote_work_in_one_place() -> None:
    url = search_url(1, search_term="developer", location="Zürich", is_remote=True)
    read = records(BOARD["recipe"], url)
    assert read
    assert all(one["remote"] and one["location"] == "Zürich, Switzerland" for one in read)


def test_the_boards_recipe_finds_nothing_after_the_redesign() -> None:
    tree = page(search_url(1).replace("/board/", "/board/broken/"))
    recipe = BOARD["recipe"]
    selectors = [recipe[name] for name in ("list", "empty", "record", "next")]
    selectors += [field["css"] for field in recipe["fields"].values() if "css" in field]
    assert [css for css in selectors if tree.css(css)] == []


@pytest.mark.parametrize("name", OFFICES)
def test_an_offices_recipe_reads_its_whole_index(name: str) -> None:
    site, office = TRAVEL[name], OFFICES[name]
    said = advisories(office)
    read = records(site["recipe"], site["search_url"])
    assert [one["country"] for one in read] == [one.country.name for one in said]
    assert [one["updated"] for one in read] == [str(one.updated_on) for one in said]
    levels = [one.level if office is Office.US else one.words for one in said]
    assert [one["level"] for one in read] == levels
    for one, country in zip(read, COUNTRIES, strict=True):
        assert one["url"] == site["country_url"].format(country=country.slug)
        page(site["country_url"].format(country=country.slug))


def test_two_offices_are_more_urgent_than_the_third() -> None:
    assert {name: site["priority"] for name, site in TRAVEL.items()} == {
        "us_state_dept": 1,
        "uk_foreign_office": 1,
        "canada_travel": 5,
    }
    assert set(TRAVEL) == set(OFFICES)


def test_robots_may_go_wherever_the_examples_do() -> None:
    robots = robots_of(plan(Place(address(0), 8000, 20), "/robots.txt").answer.body, "curtsy")
    urls = [search_url(1), *(site["search_url"] for site in TRAVEL.values())]
    assert all(robots.allows(urlsplit(url).path) for url in urls)
