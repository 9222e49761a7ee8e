"""Tables of the page: a caption, heads with a scope, numbers at the right."""

from collections.abc import Sequence
from typing import NamedTuple

from curtsy.reports.html.markup import Html, element


class Column(NamedTuple):
    head: str
    style: str | None = None
    """Classes of its cells: `number`, `bars`, `words`; on a phone `aside` and `bars` are left out,
    and so are words before words."""


def table(caption: str, columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> Html:
    """The first cell of each row is its head. On a phone the table scrolls by itself."""
    heads = (element("th", column.head, scope="col", class_=column.style) for column in columns)
    body = (element("tr", *_cells(columns, row)) for row in rows)
    whole = element("table", element("caption", caption), element("thead", element("tr", *heads)),
                    element("tbody", *body))  # fmt: skip
    is_narrow = not any(column.style in ("bars", "words") for column in columns)
    style = "table narrow" if is_narrow else "table"
    return element("div", whole, class_=style, role="region", aria_label=caption, tabindex="0")


def _cells(columns: Sequence[Column], row: Sequence[str]) -> list[Html]:
    first, *others = row
    return [
        element("th", first, scope="row"),
        *(element("td", cell, class_=column.style)
          for column, cell in zip(columns[1:], others, strict=True)),
    ]  # fmt: skip
