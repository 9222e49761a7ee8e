"""Bars within tables, and the bar that shows for what pages waited, as SVG."""

from collections.abc import Sequence
from typing import NamedTuple

from curtsy.reports.formats import percent, span
from curtsy.reports.html.markup import NOTHING, Html, element, joined

BAR_HEIGHT, STACK_HEIGHT = 8, 28


class Part(NamedTuple):
    """A part of a stacked bar."""

    name: str
    style: str
    """Its class in the style sheet."""
    value: int


def small_bar(value: float, whole: float, style: str) -> Html:
    """A value beside others; the number stands next to it, so screen readers skip the bar."""
    if whole <= 0 or value <= 0:
        return NOTHING
    part = min(1.0, value / whole) * 100
    rect = element("rect", width=f"{max(part, 1):.1f}%", height=BAR_HEIGHT, rx=2, class_=style)
    return element("svg", rect, class_="bar", width="100%", height=BAR_HEIGHT, aria_hidden="true")


def stacked_bar(title: str, parts: Sequence[Part]) -> Html:
    """With a legend that has every part, its span and its share, also the empty ones."""
    whole = sum(part.value for part in parts)
    if whole <= 0:
        return NOTHING
    bars, at = [], 0.0
    for part in parts:
        width = part.value / whole * 100
        if part.value > 0:
            words = element("title", f"{part.name}: {span(part.value)}")
            bars.append(element("rect", words, x=f"{at:.2f}%", width=f"{width:.2f}%",
                                height=STACK_HEIGHT, class_=f"part {part.style}"))  # fmt: skip
        at += width
    drawn = element("svg", element("title", title, id="waits-title"), *bars, class_="stack",
                    width="100%", height=STACK_HEIGHT, role="img",
                    aria_labelledby="waits-title")  # fmt: skip
    return joined([drawn, _legend(parts, whole)])


def _legend(parts: Sequence[Part], whole: int) -> Html:
    return element(
        "ul",
        *(element("li", swatch(part.style), element("b", part.name), f" {span(part.value)}, "
                  f"{percent(part.value / whole)}")
          for part in parts),
        class_="legend",
    )  # fmt: skip


def swatch(style: str) -> Html:
    return element("svg", element("rect", width=12, height=12, rx=2, class_=style), width=12,
                   height=12, class_="swatch", aria_hidden="true")  # fmt: skip
