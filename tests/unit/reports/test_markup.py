"""Markup escapes what is not markup, and names from elsewhere do no harm."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from curtsy.reports.html.markup import LONGEST_NAME, Html, element, html, joined, named, with_code


def test_text_is_escaped_where_it_joins_markup() -> None:
    made = element("p", "<script>", element("b", "&"), title='"><x')
    assert made == '<p title="&quot;&gt;&lt;x">&lt;script&gt;<b>&amp;</b></p>'
    assert joined(["<", Html("<br>")]) == "&lt;<br>"


def test_attributes_have_dashes_and_none_is_left_out() -> None:
    assert element("svg", text_anchor="end", class_="a", x=1.0, y=0.126, rx=None) == (
        '<svg text-anchor="end" class="a" x="1" y="0.13"></svg>'
    )
    assert element("meta", name="a") == '<meta name="a">'


@pytest.mark.parametrize(
    "name",
    ["\x00", "\x1b[31m", "\u202eevil", "\u2066x", "\ud800", "\x85", "\ufffe", "\u2028"],
)
def test_controls_and_overrides_are_replaced(name: str) -> None:
    assert "\N{REPLACEMENT CHARACTER}" in named(name)
    named(name).encode()


def test_a_name_keeps_its_direction_to_itself_and_is_cut() -> None:
    assert named("مثال.إختبار") == "<bdi>مثال.<wbr>إختبار</bdi>"
    assert len(named("x" * 10_000)) < LONGEST_NAME + 20


def test_commands_in_a_sentence_are_code() -> None:
    assert with_code("Run `a <b>` now.") == "Run <code>a &lt;b&gt;</code> now."


@given(st.text())
def test_no_text_becomes_an_element(text: str) -> None:
    made = html(text)
    assert "<" not in made
    assert ">" not in made
    assert '"' not in made
    made.encode()
