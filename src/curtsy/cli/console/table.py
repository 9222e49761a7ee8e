"""Rows under headings, in columns that fit the terminal; nothing is cut where nobody looks."""

import shutil
import sys
from collections.abc import Mapping, Sequence

from rich.cells import cell_len, set_cell_size

from curtsy.cli.console.text import one_line

MIN_COLUMN_WIDTH = 10
"""No column is made narrower than this."""

Rows = Sequence[Sequence[str]]


def table(headings: Sequence[str], rows: Rows, *, cut: Sequence[str] = ()) -> list[str]:
    """Cells under the headings in `cut` may lose their ends for lack of room."""
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
    """A line for each that is known."""
    known = {name.replace("_", " ").capitalize(): value for name, value in found.items()
             if value is not None}  # fmt: skip
    width = max(map(len, known))
    return [f"{name:<{width}}  {value}" for name, value in known.items()]


def _narrowed(widths: list[int], cut: Sequence[int], room: int) -> bool:
    """Take from the widest that may be cut until all fit; false if they cannot."""
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
    """For narrow terminals: one under the other."""
    width = max(map(len, headings))
    lines = [
        f"  {heading:<{width}}  {cell}".rstrip()
        for row in rows
        for heading, cell in (*zip(headings, row, strict=True), ("", ""))
    ]
    return lines[:-1]
