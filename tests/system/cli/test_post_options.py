"""`curtsy submit` with a method and a body."""

import pytest

from cli.conftest import Curtsy

URL = "https://shop.invalid/search"


def test_forms_and_json_are_pages_of_their_own(curtsy: Curtsy) -> None:
    form = curtsy("submit", URL, "--form", "q=tea", "--form", "q=green=1", "--json")
    json = curtsy("submit", URL, "--body-json", '{"q": "tea"}', "--method", "PUT", "--json")
    empty = curtsy("submit", URL, "--method", "POST", "--json")
    assert [made.json["new_articles"] for made in (form, json, empty)] == [1, 1, 1]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--form", "tea"), "--form takes NAME=VALUE"),
        (("--body-json", "{"), "--body-json is not JSON"),
        (("--body-json", "1"), "takes an object or a list"),
        (("--form", "a=1", "--body-json", "{}"), "one body, not json and form"),
        (("--method", "GET", "--form", "a=1"), "GET has no body"),
    ],
)
def test_what_makes_no_sense_is_a_sentence(
    curtsy: Curtsy, options: tuple[str, ...], sentence: str
) -> None:
    told = curtsy("submit", URL, *options)
    assert told.exit_code != 0
    assert sentence in " ".join(told.err.split())
