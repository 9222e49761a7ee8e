"""The practice travel-advisory sites: three offices, three kinds of HTML."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from curtsy.demo.countries import COUNTRIES, REGIONS, Office, advisory
from curtsy.demo.plans import Place
from curtsy.demo.site_pages import plan

HERE = Place("127.0.1.1", 8080, 1)
LINKS = {Office.US: "tbody th a", Office.UK: "li.country a", Office.CA: "tr.destination a"}


def page(target: str) -> LexborHTMLParser:
    made = plan(HERE, target).answer
    assert made.status == 200, target
    return LexborHTMLParser(made.body)


def words(tree: LexborHTMLParser, css: str) -> list[str]:
    return [node.text(strip=True) for node in tree.css(css)]


def test_the_countries_have_slugs_of_their_own() -> None:
    slugs = [country.slug for country in COUNTRIES]
    assert len(set(slugs)) == len(slugs) == 42
    assert {"france", "costa-rica", "cote-d-ivoire", "turkiye"} <= set(slugs)
    assert slugs == sorted(slugs)


@pytest.mark.parametrize("office", Office)
def test_an_index_links_to_every_country_by_its_name(office: Office) -> None:
    links = page(f"/advisories/{office}/").css(LINKS[office])
    assert [link.text() for link in links] == [country.name for country in COUNTRIES]
    for link, country in zip(links, COUNTRIES, strict=True):
        href = link.attributes["href"] or ""
        path = href if href.startswith("/") else f"/advisories/{office}/{href}"
        assert path == f"/advisories/{office}/{country.slug}"


@pytest.mark.parametrize("office", Office)
def test_a_country_has_its_level_its_day_and_its_text(office: Office) -> None:
    for country in COUNTRIES:
        said = advisory(office, country)
        tree = page(f"/advisories/{office}/{country.slug}")
        [name] = words(tree, "h1")
        assert country.name in name
        [level] = words(tree, "h2.level, dd.status, #risk .risk")
        assert level.endswith(said.words)
        day = tree.css_first(".issued[data-sort], time[datetime], p.updated")
        assert day is not None
        assert str(said.updated_on) in (day.html or "")
        assert set(said.text) <= set(words(tree, "p"))


def test_the_offices_do_not_agree() -> None:
    levels = {office: [advisory(office, c).level for c in COUNTRIES] for office in Office}
    assert len(set(map(tuple, levels.values()))) == 3
    assert all(set(of_office) == {1, 2, 3, 4} for of_office in levels.values())


def test_one_index_has_a_heading_for_every_letter() -> None:
    tree = page("/advisories/uk/")
    assert words(tree, "#countries h2") == sorted({c.slug[0].upper() for c in COUNTRIES})
    for section in tree.css("#countries section"):
        [letter] = [heading.text() for heading in section.css("h2")]
        hrefs = [link.attributes["href"] or "" for link in section.css("li a")]
        assert hrefs
        assert all(href.rpartition("/")[2].startswith(letter.lower()) for href in hrefs)


def test_one_index_can_be_limited_to_a_region() -> None:
    everywhere = page("/advisories/ca/")
    offered = [one.attributes["value"] for one in everywhere.css("select#region option")]
    assert offered == ["", *(region.lower() for region in REGIONS)]
    for region in REGIONS:
        tree = page(f"/advisories/ca/?region={region.lower()}")
        wanted = [country.name for country in COUNTRIES if country.region == region]
        assert words(tree, "tr.destination a") == wanted
        assert words(tree, "option[selected]") == [region]
    assert words(page("/advisories/ca/?region=atlantis"), "tr.destination a") == words(
        everywhere, "tr.destination a"
    )


@pytest.mark.parametrize(
    "path",
    [
        *("/advisories", "/advisories/", "/advisories/us", "/advisories/fr/", "/advisories/US/"),
        *("/advisories/uk/France", "/advisories/uk/france/", "/advisories/uk/atlantis"),
    ],
)
def test_anything_else_is_not_found(path: str) -> None:
    assert plan(HERE, path).answer.status == 404


@settings(deadline=None)
@given(
    st.sampled_from(["", "us/", "uk/", "ca/"]),
    st.just("") | st.text(st.characters(), max_size=20),
    st.text(st.characters(), max_size=40).map(lambda text: f"region={text}"),
)
def test_any_path_and_query_get_a_page_or_are_not_found(office: str, path: str, query: str) -> None:
    assert plan(HERE, f"/advisories/{office}{path}?{query}").answer.status in (200, 404)
