"""How a page is asked for: one spelling, and none where there is nothing to say."""

from typing import Any

import pytest

from curtsy.model.options import (
    MOST_PARAMS_BYTES,
    BadParams,
    checked_params,
    headers_for,
    identity_of,
    options_for,
    params_of,
)
from curtsy.model.urls import fingerprint


def test_pages_without_params_keep_the_fingerprint_that_they_always_had() -> None:
    assert options_for("a.example") is None
    assert options_for("a.example", params={}) is None
    told = options_for("a.example", headers=[("A", "1"), ("B", "2")], params={})
    assert told == '{"headers":[["A","1"],["B","2"]],"host":"a.example"}'
    url = "http://a.example/"
    assert fingerprint(url, "article", told) == "V7g7zS6b329xw6/8/mYs7A"
    assert headers_for(told, url) == (("A", "1"), ("B", "2"))
    assert params_of(told) == params_of(None) == {}


def test_the_same_params_in_another_order_are_the_same_page() -> None:
    one = options_for("a.example", params={"a": {"x": 1, "y": [2]}, "b": None})
    other = options_for("a.example", params={"b": None, "a": {"y": [2], "x": 1}})
    assert identity_of(one) == identity_of(other)
    assert identity_of(one) != identity_of(
        options_for("a.example", params={"a": {"x": 1, "y": [3]}, "b": None})
    )


def test_params_keep_their_order_and_pages_of_before_their_identity() -> None:
    recipe = {"fields": {"title": "h2", "price": ".price"}}
    told = options_for("a.example", params={"recipe": recipe})
    assert list(params_of(told)["recipe"]["fields"]) == ["title", "price"]
    before = '{"params":{"recipe":{"fields":{"price":".price","title":"h2"}}}}'
    assert identity_of(told) == before, "as it was stored when names were sorted"
    assert identity_of(None) == ""


def test_params_stay_with_a_page_that_moved_and_headers_do_not() -> None:
    told = options_for("a.example", headers=[("A", "1")], params={"a": 1})
    assert headers_for(told, "http://b.example/", page_url="http://a.example/") == ()
    assert params_of(told) == {"a": 1}
    assert headers_for(options_for("a.example", params={"a": 1}), "http://a.example/") == ()


@pytest.mark.parametrize(
    "params", [{"a": b"x"}, {1: 2}, {"a": {1, 2}}, {"a": "\ud800"}, {"a": 2**70},
               {"a": "x" * MOST_PARAMS_BYTES}]
)  # fmt: skip
def test_params_that_cannot_be_stored_are_refused(params: dict[Any, Any]) -> None:
    with pytest.raises(BadParams):
        checked_params(params)
