"""Records as dataclasses and pydantic models: accepted from scrapers, stored with their fields in
declared order, and given back as instances."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from typing import Any, Literal, NewType
from uuid import UUID

import orjson
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from curtsy.model.outcome import Failed, Record, Reply
from curtsy.scrapers import BadRecord, Found, Page, as_model, scraper, try_on
from curtsy.scrapers.custom import declared, run
from curtsy.scrapers.record_keys import is_listing, records_on

URL = "http://shop.example/"
REPLY = Reply(200, URL, {}, b"", 0)


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Size(IntEnum):
    SMALL = 1
    LARGE = 2


class Unit(StrEnum):
    GRAM = "g"


Sku = NewType("Sku", str)


@dataclass(frozen=True)
class Maker:
    name: str
    country: str | None = None


@dataclass(frozen=True)
class Product:
    title: str
    price: Decimal
    maker: Maker
    colours: list[Colour]
    size: Size
    seen: date
    at: datetime
    opens: time
    number: UUID
    box: tuple[int, int]
    weights: dict[str, float]
    state: Literal["new", "used"]
    sku: Sku
    parts: Sequence["Maker"] = ()
    unit: Unit | None = None
    more: Any = None
    made: date | datetime | None = None


class Offer(pydantic.BaseModel):
    title: str
    price: Decimal
    until: date | None = None

    @pydantic.computed_field  # type: ignore[prop-decorator]
    @property
    def is_cheap(self) -> bool:
        return self.price < 5


class Aliased(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(strict=True, extra="forbid")

    zip_code: str = pydantic.Field(alias="zipCode")
    built: date
    offers: list[Offer] = []


@dataclass
class Flat:
    b: int
    a: int | None = None


def outcome(returned: Any, **declares: Any) -> Record | Failed:
    own = declared(scraper(name="gives", **declares)(lambda page: returned))
    assert own is not None
    return run(own, REPLY, {})


def rows(outcome: Record | Failed) -> list[dict[str, Any]]:
    assert isinstance(outcome, Record), outcome
    return [dict(fields) for _key, fields in records_on(orjson.loads(outcome.content), URL)]


def names(outcome: Record | Failed) -> list[str]:
    return [*rows(outcome)[0]]


def why_not(returned: Any, **declares: Any) -> str:
    failed = outcome(returned, **declares)
    assert isinstance(failed, Failed), failed
    assert failed.kind == "extract_failed"
    return failed.error


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
makers = st.builds(Maker, texts, st.none() | texts)
dates = st.dates(min_value=date(1, 1, 1))
products = st.builds(
    Product, texts, st.decimals(allow_nan=False, allow_infinity=False), makers,
    st.lists(st.sampled_from(Colour), max_size=3), st.sampled_from(Size), dates,
    st.datetimes(timezones=st.just(UTC)), st.times(), st.uuids(),
    st.tuples(st.integers(-9, 9), st.integers()), st.dictionaries(texts, st.floats(
        allow_nan=False, allow_infinity=False), max_size=3), st.sampled_from(["new", "used"]),
    texts.map(Sku), st.lists(makers, max_size=2), st.none() | st.just(Unit.GRAM),
    st.none() | texts | st.lists(st.booleans(), max_size=2), st.none() | dates | st.datetimes(),
).filter(lambda product: abs(product.box[1]) < 2**63)  # fmt: skip


@given(products)
def test_a_dataclass_comes_back_as_it_was(product: Product) -> None:
    [row] = rows(outcome([product], record=Product))
    assert list(row) == list(Product.__dataclass_fields__)
    assert as_model(Product, row) == product


def test_a_pydantic_model_comes_back_as_it_was() -> None:
    offer = Offer(title="Lamp", price=Decimal("4.50"), until=date(2026, 12, 1))
    [row] = rows(outcome(offer, record=Offer))
    assert [*row.items()] == [("title", "Lamp"), ("price", "4.50"), ("until", "2026-12-01"),
                              ("is_cheap", True)]  # fmt: skip
    assert as_model(Offer, row) == offer
    whole = Aliased(zipCode="0150", built=date(1990, 1, 2), offers=[offer])
    [row] = rows(outcome(whole, record=Aliased))
    assert list(row) == ["zip_code", "built", "offers"], "names of fields, not aliases"
    assert as_model(Aliased, {**row, "offers": [{"title": "Lamp", "price": "4.50",
                                                 "until": "2026-12-01"}]}) == whole  # fmt: skip


@pytest.mark.parametrize("form", [
    lambda one: one, lambda one: [one], lambda one: iter([one]), lambda one: Found(record=one),
    lambda one: Found(records=[one]), lambda one: Found(records=iter([one])),
])  # fmt: skip
@pytest.mark.parametrize("record", [Flat(b=1), Offer(title="x", price=Decimal(1))])
def test_instances_are_records_in_every_form(form: Any, record: Any) -> None:
    found = outcome(form(record))
    assert names(found)[0] in ("b", "title")
    assert as_model(type(record), rows(found)[0]) == record


def test_fields_are_in_the_declared_order_and_null_where_they_are_missing() -> None:
    assert names(outcome([{"a": 1, "b": 2}], fields=["b", "c", "a"])) == ["b", "c", "a"]
    assert rows(outcome({"a": 1}, fields=["c", "a"])) == [{"c": None, "a": 1}]
    assert names(outcome({"a": 1, "b": 2}, record=Flat)) == ["b", "a"]
    assert names(outcome({"z": 1, "m": 2, "a": 3})) == ["z", "m", "a"], "a dict keeps its order"


def test_fields_that_were_not_declared_are_kept_last_and_said_once() -> None:
    found = outcome([{"x": 1, "a": 2}, {"y": 1, "x": 3, "a": 4}], fields=["a"])
    assert [list(row) for row in rows(found)] == [["a", "x"], ["a", "y", "x"]]
    assert found.lines == (
        ("WARNING", "Not declared, and kept after the declared fields: 'x', 'y'."),
    )
    many = outcome({str(n) * 500: n for n in range(1, 200)}, fields=["a"])
    assert len(many.lines) == 1
    assert many.lines[0][1].endswith("and 189 more.")


def digest(found: Record | Failed) -> str | None:
    assert isinstance(found, Record), found
    return found.digest


def test_another_order_alone_is_no_change_unless_it_was_declared() -> None:
    assert digest(outcome({"a": 1, "b": 2})) == digest(outcome({"b": 2, "a": 1}))
    several = [outcome([one]) for one in ({"a": 1, "b": 2}, {"b": 2, "a": 1})]
    assert digest(several[0]) == digest(several[1])
    assert digest(outcome({"a": 1})) != digest(outcome({"a": 2}))
    before, after = (
        digest(outcome({"a": 1, "b": 2}, fields=order)) for order in (["a", "b"], ["b", "a"])
    )
    assert before != after, "else stored pages would keep the order of before"


def test_keys_do_not_depend_on_the_order_or_the_declaration() -> None:
    def key(returned: Any, **declares: Any) -> str:
        found = outcome(returned, **declares)
        assert isinstance(found, Record)
        return next(key for key, _fields in records_on(orjson.loads(found.content), URL))

    plain = key([{"id": 1, "b": 2}], key=["id"])
    assert plain == key([{"b": 3, "id": 1}], key=["id"])
    assert plain == key([{"b": 3, "id": 1}], key=["id"], fields=["more", "id", "b"])
    assert key({"id": 1}, key=["id"]) == key({"x": 1, "id": 1}, key=["id"])
    assert key({"id": 1}) == key({"id": 2}), "the page identifies its only record"


def test_a_field_of_ones_own_named_like_the_key_stays() -> None:
    assert rows(outcome({"_key": "mine", "a": 1})) == [{"_key": "mine", "a": 1}]


def test_a_model_that_refuses_a_value_is_a_failure_that_names_record_and_field() -> None:
    def prices(page: Page) -> Iterator[Offer]:
        yield Offer(title="x", price=Decimal(1))
        yield Offer(title="y", price="on request")  # type: ignore[arg-type]

    own = declared(scraper(prices))
    assert own is not None
    failed = run(own, REPLY, {})
    assert isinstance(failed, Failed)
    assert failed.kind == "extract_failed"
    assert failed.error.startswith("records[1] is no valid Offer: price: Input should be a valid")
    assert failed.traceback is not None
    assert "test_record_models.py" in failed.traceback.splitlines()[1], "from one's own file on"
    asdicts = [{"title": "x", "price": "1"}, {"title": None, "price": "2"}, {}]
    assert why_not(asdicts, record=Offer).startswith("records[1] is no valid Offer: title: ")


def test_a_model_made_before_it_was_returned_is_a_failure_with_its_field() -> None:
    @scraper
    def offers(page: Page) -> list[Offer]:
        return [Offer(title="x", price=price) for price in ("1", "none")]  # type: ignore[arg-type]

    own = declared(offers)
    assert own is not None
    failed = run(own, REPLY, {})
    assert isinstance(failed, Failed)
    assert failed.error.startswith("A record is no valid Offer: price: ")


def test_dicts_become_the_declared_pydantic_model() -> None:
    assert rows(outcome([{"price": 3, "title": "x"}], record=Offer)) == [
        {"title": "x", "price": "3", "until": None, "is_cheap": True}
    ]
    by_alias = outcome({"zipCode": "1", "built": date(2000, 1, 1)}, record=Aliased)
    assert rows(by_alias) == [{"zip_code": "1", "built": "2000-01-01", "offers": []}]


@pytest.mark.parametrize(
    ("returned", "declares", "word"),
    [
        ([Flat(1), Maker("x")], {"record": Flat}, "records[1] is a Maker, not the declared Flat."),
        ([Flat(1), 7], {"record": Flat}, "records[1] is of type int, not a dict"),
        ([Flat], {}, "records[0] is of type type"),
        ([Flat(b=b"x")], {}, "records[0].b is of type bytes"),  # type: ignore[arg-type]
        ([{"a": Maker("\ud800")}], {}, "records[0].a.name is text with half"),
        (Maker(name=Decimal("NaN")), {}, "name is NaN"),  # type: ignore[arg-type]
        (Flat(b=2**64), {}, "b is a number of more than 64 bits"),
        ({"a": {"\udfff": 1}}, {}, "A name in a is text with half"),
        (pydantic.RootModel[list[int]]([1]), {}, "no names for its fields"),
    ],
)
def test_what_is_no_record_is_a_sentence(
    returned: Any, declares: dict[str, Any], word: str
) -> None:
    assert word in why_not(returned, **declares)


def test_hostile_values_are_stored_as_they_are() -> None:
    hostile = {"": 1, "a\0b": "\0", "__class__": "x", "x" * 100_000: "y", "text": "z" * 2**20,
               "record": {"key": 1}, "<script>": None}  # fmt: skip
    assert rows(outcome(hostile)) == [hostile]
    many = outcome(({"n": n} for n in range(10_000)), fields=["n", "m"])
    assert [row["n"] for row in rows(many)] == list(range(10_000))


def test_a_model_that_is_false_is_still_a_record() -> None:
    @dataclass
    class Empty:
        a: int = 0

        def __bool__(self) -> bool:
            return False

    assert rows(outcome(Empty())) == [{"a": 0}]
    assert rows(outcome(Found(record=Empty()))) == [{"a": 0}]


@pytest.mark.parametrize(
    ("declares", "word"),
    [
        ({"fields": ["a"], "record": Flat}, "both fields and record"),
        ({"fields": "ab"}, "not a list of names"),
        ({"fields": []}, "not a list of names"),
        ({"fields": ["a", "a"]}, "declares a field twice"),
        ({"fields": ["a", 1]}, "whose name is no text"),
        ({"fields": [str(n) for n in range(1_001)]}, "more than 1000 fields"),
        ({"record": dict}, "neither a dataclass nor a pydantic model"),
        ({"record": Flat(1)}, "neither a dataclass nor a pydantic model"),
        ({"fields": ["a"], "key": ["b"]}, "'b' in its key"),
        ({"record": Flat, "key": ["c"]}, "'c' in its key"),
    ],
)
def test_a_wrong_declaration_is_refused_with_a_sentence(declares: Any, word: str) -> None:
    with pytest.raises(ValueError, match=r"The scraper 'gives' ") as refused:
        outcome({}, **declares)
    assert word in str(refused.value)


def test_a_saved_page_gives_plain_fields() -> None:
    @scraper(record=Flat)
    def flats(page: Page) -> Iterator[Flat]:
        yield Flat(b=1)

    assert try_on(flats, b"", url=URL).records == [{"b": 1, "a": None}]


@dataclass
class Left:
    child: "Left | Right | None"
    left: int


@dataclass
class Right:
    child: "Left | Right | None"
    right: int = field(default=3)


def test_a_model_of_a_union_is_chosen_by_its_names_and_quickly() -> None:
    record: dict[str, Any] = {"child": None, "right": "bad"}
    for n in range(40):
        record = {"child": record, "right" if n % 2 else "left": n}
    with pytest.raises(BadRecord, match=r"child\.right is the text 'bad', not int"):
        as_model(Right, record)
    assert as_model(Right, {"child": {"child": None, "left": 1}}) == Right(Left(None, 1))


@pytest.mark.parametrize(
    ("record", "sentence"),
    [
        ({"a": 1}, "Flat needs the field b, which the record lacks."),
        ({"b": "1"}, "b is the text '1', not int."),
        ({"b": True}, "b is of type bool, not int."),
        ({"b": None}, "b is null, not int."),
        ([], "A Flat is made of the fields of a record, not of a list"),
    ],
)
def test_a_record_that_does_not_fit_is_a_sentence(record: Any, sentence: str) -> None:
    with pytest.raises(BadRecord) as refused:
        as_model(Flat, record)
    assert str(refused.value).startswith(sentence)


def test_a_record_that_does_not_fit_a_pydantic_model_is_a_sentence() -> None:
    with pytest.raises(BadRecord, match="The record is no valid Offer: price: Field required"):
        as_model(Offer, {"title": "x"})
    with pytest.raises(BadRecord, match="no dataclass and no pydantic model"):
        as_model(dict, {"title": "x"})


def test_null_is_the_default_where_the_class_takes_no_none() -> None:
    @dataclass
    class Priced:
        price: float = 0.0
        note: str | None = "?"

    assert as_model(Priced, {"price": None, "note": None}) == Priced(0.0, None)
    assert as_model(Priced, {"unknown": 1}) == Priced()


def test_a_listing_is_told_from_a_record_that_looks_like_one() -> None:
    assert "has the form of a listing" in why_not({"records": [], "next": None, "empty": True})
    found = outcome([{"records": [], "next": None, "empty": True}])
    assert isinstance(found, Record)
    assert is_listing(orjson.loads(found.content))
