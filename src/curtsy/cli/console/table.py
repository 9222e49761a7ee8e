"""Formats rows as columns that fit the terminal; without a terminal nothing is cut."""

import shutil
import sys
from collections.abc import Mapping, Sequence

from rich.cells import cell_len, set_cell_size

from curtsy.cli.console.text import one_line

MIN_COLUMN_WIDTH = 10
"""Narrowest width of a column that is cut."""

Rows = Sequence[Sequence[str]]


def table(headings: Sequence[str], rows: Rows, *, cut: Sequence[str] = ()) -> list[str]:
    """Formats rows under headings; only cells of the columns in `cut` are cut to fit."""
    if not rows:
        return ["  none"]
    clean = [[one_line(cell) for cell in row] for row in rows]
    columns = zip(headings, *clean, strict=True)
    widths = [max(cell_len(cell) for cell in column) for column in columns]
    if sys.stdout.isatty():
        room = shutil.get_terminal_size().columns
        if not _narrowed(widths, [headings.index(heading) for heading in cut], room):
            return _records(headings, clean)
    return [_row(row, widths) for row in (headings, *clean)]


def facts(found: Mapping[str, object]) -> list[str]:
    """One line for each fact that is not None."""
    known = {name.replace("_", " ").capitalize(): value for name, value in found.items()
             if value is not None}  # fmt: skip
    width = max(map(len, known))
    return [f"{name:<{width}}  {value}" for name, value in known.items()]


def _narrowed(widths: list[int], cut: Sequence[int], room: int) -> bool:
    """Narrows the widest columns that may be cut until all fit; False if they cannot."""
    while sum(widths) + 2 * len(widths) > room:
        widest = max(cut, key=widths.__getitem__, default=None)
        if widest is None or widths[widest] <= MIN_COLUMN_WIDTH:
            return False
        widths[widest] -= 1
    return True


def _row(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "  " + "  ".join(map(_cell, cells, widths)).rstrip()


def _cell(text: str, width: int) -> str:
    if cell_len(text) <= width:
        return set_cell_size(text, width)
    return f"{set_cell_size(text, width - 1)}…"


def _records(headings: Sequence[str], rows: Rows) -> list[str]:
    """Formats each row as lines of heading and cell, for narrow terminals."""
    width = max(map(len, headings))
    lines = [
        f"  {heading:<{width}}  {cell}".rstrip()
        for row in rows
        for heading, cell in (*zip(headings, row, strict=True), ("", ""))
    ]
    return lines[:-1]
