"""From elements to values, as a reader of the page would take them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from curtsy.scrapers.field_values import LONGEST_VALUE, Values, number_in, text_of_node
from curtsy.scrapers.links import Base
from curtsy.scrapers.recipe import Field


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("£51.77", 51.77), ("1,234", 1234), ("1,234.50", 1234.5), ("1.234,50 €", 1234.5),
        ("1.234", 1.234), ("1.234.567", 1234567), ("1 234,5", 1234.5), ("12\u202f345", 12345),
        ("1'234'567.8", 1234567.8), ("2,5", 2.5), ("0,125", 0.125), ("-7", -7), ("\u22127", -7),
        ("A-12", 12), ("from 3 to 9", 3), ("none", None), ("", None), ("9" * 16, None),
        ("007", 7), ("1,2345", 1.2345), ("5.", 5),
    ],
)  # fmt: skip
def test_numbers_are_read_as_sites_write_them(text: str, number: float | None) -> None:
    found = number_in(text)
    assert found == number
    assert type(found) is type(number)


@given(st.integers(-(10**14), 10**14))
def test_any_whole_number_is_read_however_its_thousands_are_set_apart(number: int) -> None:
    assert number_in(f"{number}") == number
    assert number_in(f"{number:,}") == number
    assert number_in(f"{number:,}".replace(",", "\u00a0")) == number


@given(st.text(alphabet="0123456789.,'-\u2212 \u00a0x", max_size=40))
def test_no_text_makes_reading_a_number_fail(text: str) -> None:
    assert isinstance(number_in(text), int | float | None)


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<p>a<b>b</b>c</p>", "abc"),
        ("<p>a</p><p>b</p>", "a b"),
        ("<div><span>1</span><div>2</div>3</div>", "1 2 3"),
        ("a<br>b", "a b"),
        ("  a \n\t b&nbsp;c ", "a b c"),
        ("a<script>no()</script><style>no</style><!-- no --><template>no</template>b", "ab"),
        ("<ul><li>a<li>b</ul>c", "a b c"),
    ],
)
def test_text_is_what_a_reader_sees(html: str, text: str) -> None:
    node = LexborHTMLParser(f"<div id=x>{html}</div>").css_first("#x")
    assert node is not None
    assert text_of_node(node) == text


def test_a_text_without_end_is_cut() -> None:
    node = LexborHTMLParser("<div id=x>" + "<i>word </i>" * 50_000).css_first("#x")
    assert node is not None
    assert len(text_of_node(node)) <= LONGEST_VALUE


def test_an_element_is_not_within_itself_and_nothing_is_found_twice() -> None:
    node = LexborHTMLParser("<div id=x><div>a</div></div>").css_first("#x")
    assert node is not None
    assert Values(Field("div, div, #x", many=True), Base("http://a.example/")).of(node) == ["a"]
