"""Recipes: what they say is kept, and what is wrong with them is said, all of it."""

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from curtsy.scrapers.recipe import BadRecipe, Field, Recipe, parse_recipe, recipe_to_json
from curtsy.scrapers.selectors import problem_of

LEAST = {"record": "li", "fields": {"title": "h2"}}


def problems_of(**changes: Any) -> list[str]:
    with pytest.raises(BadRecipe) as bad:
        parse_recipe(LEAST | changes)
    assert all(problem.endswith(".") for problem in bad.value.problems)
    return bad.value.problems


def test_a_plain_selector_is_short_for_a_field() -> None:
    assert parse_recipe(LEAST) == Recipe("li", {"title": Field("h2")}, ("title",))


def test_the_key_is_the_url_where_there_is_one_and_else_everything() -> None:
    assert parse_recipe(LEAST | {"fields": {"b": "b", "a": "i"}}).key == ("a", "b")
    fields = {"b": "b", "url": {"css": "a", "kind": "url"}}
    assert parse_recipe(LEAST | {"fields": fields}).key == ("url",)
    assert parse_recipe(LEAST | {"fields": fields, "key": ["b"]}).key == ("b",)


def test_every_problem_is_told_at_once() -> None:
    fields = {
        "ok": "p", "9": "p", "a": 7, "b": {"css": "p["}, "c": {"pattern": ""},
        "d": {"kind": "date"}, "e": {"many": 1}, "f": {"selector": "p"},
        "g": {"kind": "flag", "required": True}, "h": {"attribute": "a b"},
    }  # fmt: skip
    told = problems_of(record="div >", lst="ul", list="ul (", next=5, key=["nope"], fields=fields)
    assert len(told) == 14
    for word in ("'lst' (did you mean 'list'?)", "record is not", "list ends in the middle",
                 "next is not text", "'9' cannot be", "fields.a is neither", "fields.b.css ends",
                 "fields.c.pattern has 0", "fields.d.kind", "fields.e.many", "'selector'",
                 "fields.g is a flag", "fields.h.attribute", "key names 'nope'"):  # fmt: skip
        assert any(word in one for one in told), word


@pytest.mark.parametrize(
    ("said", "word"),
    [
        ({"record": None}, "no record"),
        ({"record": " "}, "is empty"),
        ({"fields": {}}, "no fields"),
        ({"fields": {f"f{n}": "p" for n in range(101)}}, "101 fields"),
        ({"record": "a" * 501}, "501 characters"),
        ({"fields": {"a": {"pattern": "a" * 501}}}, "501 characters"),
        ({"key": []}, "no field"),
        ({"key": ["title", "title"]}, "one twice"),
        ({"key": "title"}, "not a list"),
    ],
)
def test_what_is_out_of_bounds_is_refused(said: dict[str, Any], word: str) -> None:
    assert any(word in problem for problem in problems_of(**said))


@pytest.mark.parametrize("said", [None, [], "li", 7])
def test_what_is_no_recipe_at_all_is_refused(said: Any) -> None:
    with pytest.raises(BadRecipe):
        parse_recipe(said)


@pytest.mark.parametrize(
    "selector",
    [
        "", " ", "div >", "> div", "div,,p", "[", "#", "..", "//div", "<div>", "a:contains(x)",
        "div::before", ":scope > p", "p:lang(en)", "a[b!=c]", "$x", "p{}", "div p)",
    ],
)  # fmt: skip
def test_selectors_that_the_parser_cannot_read_are_refused(selector: str) -> None:
    assert problem_of(selector) is not None


@pytest.mark.parametrize(
    "selector",
    [
        "[href", "a[href=b", ":not(p", ":has(p", "a[b='c]", 'a[b="c]', "div /* x", "div\\",
        "div\0p", "\ud800", "ns|div", "|div", "a|b|c", "col || td", "a:hover", "p:current(a)",
        ":is(a:focus)", "a:active",
    ],
)  # fmt: skip
def test_selectors_that_the_parser_would_misread_are_refused_too(selector: str) -> None:
    """Tried: it takes each of these without a word (but for half a pair, where it raises)."""
    assert problem_of(selector) is not None


@pytest.mark.parametrize(
    "selector",
    [
        "a", "li.item > a[href^='/x(']", "a[lang|=en]", 'p[title="]"]', "p:not(:has(> a), .b)",
        "/* rows */ tr:nth-child(2n+1) td", ".md\\:flex", "#a\\[1\\]", "é", ".hover", "b",
        "*", "ul > li ~ li + li", "a:lexbor-contains('x' i)",
    ],
)  # fmt: skip
def test_selectors_that_mean_something_are_taken(selector: str) -> None:
    assert problem_of(selector) is None


NAMES = st.from_regex(r"[A-Za-z][A-Za-z0-9_-]{0,5}", fullmatch=True)
SELECTORS = st.sampled_from(["a", "li > a", ".x", "[href]", "p:not(.a)"])
FIELDS = st.builds(
    Field,
    css=st.none() | SELECTORS,
    attribute=st.none() | st.sampled_from(["href", "data-id"]),
    pattern=st.none() | st.sampled_from([r"\d+", "(a|b)"]),
    kind=st.sampled_from(["text", "number", "url"]),
    required=st.booleans(),
    many=st.booleans(),
)
RECIPES = st.dictionaries(NAMES, FIELDS, min_size=1, max_size=5).flatmap(
    lambda fields: st.builds(
        Recipe, record=SELECTORS, fields=st.just(fields),
        key=st.lists(st.sampled_from(sorted(fields)), min_size=1, unique=True).map(tuple),
        list=st.none() | SELECTORS, empty=st.none() | SELECTORS, next=st.none() | SELECTORS,
    )
)  # fmt: skip


@given(RECIPES)
def test_a_recipe_written_down_is_the_same_recipe(recipe: Recipe) -> None:
    assert parse_recipe(recipe_to_json(recipe)) == recipe


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(["record", "fields", "key", "list", "next", "x"]), JSON))
def test_whatever_is_said_is_a_recipe_or_refused(said: dict[str, Any]) -> None:
    with suppress(BadRecipe):
        assert isinstance(parse_recipe(said), Recipe)


@given(st.text(alphabet="ab.#[]()='\"\\/*:>+~|, \nnothasis", max_size=40))
def test_no_text_makes_the_check_of_selectors_fail(selector: str) -> None:
    assert problem_of(selector) is None or isinstance(problem_of(selector), str)
