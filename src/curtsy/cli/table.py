"""Rows under headings, in columns."""

from collections.abc import Sequence

WIDEST = 40


def table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    if not rows:
        return ["  none"]
    cut = [[cell if len(cell) <= WIDEST else f"{cell[: WIDEST - 1]}…" for cell in r] for r in rows]
    columns = zip(headings, *cut, strict=True)
    widths = [max(len(cell) for cell in column) for column in columns]
    return [
        "  " + "  ".join(f"{c:<{w}}" for c, w in zip(row, widths, strict=True)).rstrip()
        for row in (headings, *cut)
    ]
