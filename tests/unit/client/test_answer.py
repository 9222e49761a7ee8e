"""Answers are read tolerantly: a newer server may say more, never less."""

import copy
import json
import pickle
from collections.abc import Mapping
from dataclasses import FrozenInstanceError, dataclass
from datetime import UTC, datetime
from typing import Any, Literal

import pytest

from curtsy.client.answer import Answer, AnswerNotUnderstood, read
from curtsy.client.answers import AlertRule


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Inner(Answer):
    number: float


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Whole(Answer):
    name: str
    at: datetime | None
    inner: Inner
    many: tuple[Inner, ...] = ()
    by_name: Mapping[str, Inner] | None = None
    state: Literal["old", "new"] = "old"
    clear_: int = 0


BODY: dict[str, Any] = {
    "name": "a", "at": "2026-11-19T22:00:00Z", "inner": {"number": 1}, "many": [{"number": 2.5}],
    "by_name": {"x": {"number": 3}}, "state": "of a later server", "clear": 7, "more": [1],
}  # fmt: skip


def test_fields_have_their_types_and_the_json_stays_as_it_came() -> None:
    whole = read(Whole, BODY)
    assert whole.at == datetime(2026, 11, 19, 22, tzinfo=UTC)
    assert (whole.inner.number, whole.many[0].number, whole.clear_) == (1, 2.5, 7)
    assert whole.by_name is not None
    assert whole.by_name["x"].number == 3
    assert (whole.state, whole["more"]) == ("of a later server", [1])
    assert whole == BODY
    assert json.loads(json.dumps(whole)) == BODY
    with pytest.raises(FrozenInstanceError):
        whole.name = "b"  # type: ignore[misc]


def test_an_answer_is_copied_and_pickled_whole() -> None:
    whole = read(Whole, BODY)
    for twin in (copy.deepcopy(whole), pickle.loads(pickle.dumps(whole))):
        assert (twin, twin.at, twin.inner.number) == (whole, whole.at, 1)


def test_what_is_left_out_is_its_default_or_none() -> None:
    whole = read(Whole, {"name": "a", "inner": {"number": 1}})
    assert (whole.at, whole.many, whole.state) == (None, (), "old")


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"name": 1}, r"Whole\.name is 1"),
        ({"at": "soon"}, r"Whole\.at is 'soon'"),
        ({"at": 5}, r"Whole\.at is 5"),
        ({"inner": []}, r"Inner\. is \[\]"),
        ({"inner": {}}, r"Inner\.number is missing"),
        ({"many": {}}, r"Whole\.many is \{\}"),
        ({"name": "x" * 10_000 + "y", "inner": None}, r"Inner\. is None"),
    ],
)
def test_what_does_not_fit_is_told_with_its_field(changed: dict[str, Any], sentence: str) -> None:
    with pytest.raises(AnswerNotUnderstood, match=sentence) as error:
        read(Whole, BODY | changed)
    assert len(str(error.value)) < 300


def test_a_long_answer_is_short_on_the_screen() -> None:
    assert len(repr(read(Whole, BODY | {"name": "x" * 10_000}))) < 400


def test_words_of_python_and_of_dicts_have_an_underscore() -> None:
    names = set(AlertRule.__dataclass_fields__)
    assert {"for_", "except_", "clear_"} <= names
