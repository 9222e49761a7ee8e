"""Pages in a column of a table: CSV with commas, semicolons, tabs or bars."""

import csv
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path

from curtsy.cli.console.error_output import WrongUsage
from curtsy.cli.console.text import one_line
from curtsy.cli.inputs.given_page import GivenPage
from curtsy.cli.inputs.text_lines import name_of
from curtsy.errors import BadRequest

TABLES = (".csv", ".tsv")
DELIMITERS = ",;\t|"
NONE = "\x1f"
"""In place of a delimiter, for a table with one column: no URL has this character."""
SAMPLE = 50
"""Lines that show what the table is like."""
AGREE = 0.8
"""The least share of rows that must look alike."""
URL_NAMES = ("url", "urls", "link", "links", "href", "uri", "address")
COLUMNS_SHOWN = 12

Row = list[str]


def table_pages(lines: Iterator[str], file: Path, column: str | None) -> Iterator[GivenPage]:
    """The URLs of the named or numbered column, or of the one that is obviously URLs."""
    name = name_of(file)
    sample = list(islice(lines, SAMPLE))
    delimiter = "\t" if file.suffix.lower() == ".tsv" else _delimiter(sample, column)
    first_rows = [row for _number, row in _rows(sample, delimiter, name) if any(row)]
    if not first_rows:
        return
    index = _index(first_rows, name, column)
    is_named = column is not None and _named(first_rows[0], column) is not None
    rows = ((n, row) for n, row in _rows(chain(sample, lines), delimiter, name) if any(row))
    for place, (number, row) in enumerate(rows):
        if place == 0 and (is_named or _is_header(row, index)):
            continue
        at = f"{name} line {number}"
        if index >= len(row):
            shown = delimiter.join(row)
            yield GivenPage(at, shown, problem=f"has no column {index + 1}")
        elif row[index].strip():
            yield GivenPage(at, row[index].strip())


def _rows(lines: Iterable[str], delimiter: str, name: str) -> Iterator[tuple[int, Row]]:
    """The rows, each with the number of its last line."""
    reader = csv.reader((f"{line}\n" for line in lines), delimiter=delimiter)
    while True:
        try:
            row = next(reader, None)
        except csv.Error as error:
            raise BadRequest([f"{name} line {reader.line_num} is no CSV ({error})."]) from None
        if row is None:
            return
        yield reader.line_num, row


def _delimiter(sample: Sequence[str], column: str | None) -> str:
    """The one that gives the named column, or else rows of equal width."""
    best, best_score = NONE, (0.0, 1)
    for delimiter in DELIMITERS:
        rows = [row for _number, row in _rows(sample, delimiter, "The table") if any(row)]
        if not rows:
            continue
        if column is not None and len(rows[0]) > 1 and _named(rows[0], column) is not None:
            return delimiter
        width, times = Counter(map(len, rows)).most_common(1)[0]
        score = (times / len(rows), width)
        if width > 1 and len(rows[0]) == width and score[0] >= AGREE and score > best_score:
            best, best_score = delimiter, score
    return best


def _index(rows: Sequence[Row], name: str, column: str | None) -> int:
    """The column as its name or its number says; without either, the one that is URLs."""
    if column is None:
        return _obvious(rows, name)
    found = _named(rows[0], column)
    if found is not None:
        return found
    if column.isdecimal() and 1 <= int(column) <= max(map(len, rows)):
        return int(column) - 1
    raise WrongUsage(f"{name} has no column {column!r}: it has {_columns(rows[0])}.")


def _named(header: Row, column: str) -> int | None:
    names = [cell.strip().casefold() for cell in header]
    wanted = column.strip().casefold()
    return names.index(wanted) if wanted in names else None


def _obvious(rows: Sequence[Row], name: str) -> int:
    width = max(map(len, rows))
    urls = [index for index in range(width) if _is_urls(rows, index)]
    named = [index for index in urls or range(width) for cell in rows[0][index : index + 1]
             if cell.strip().casefold() in URL_NAMES]  # fmt: skip
    found = named[:1] or urls
    if len(found) == 1:
        return found[0]
    what = "More than one column" if found else "No column"
    raise WrongUsage(f"{what} of {name} is obviously the URLs: name it with --column; there are "
                     f"{_columns(rows[0])}.")  # fmt: skip


def _is_urls(rows: Sequence[Row], index: int) -> bool:
    """Most cells of the column are URLs, a header apart."""
    cells = [row[index].strip() for row in rows if index < len(row) and row[index].strip()]
    if len(cells) > 1 and not _is_url(cells[0]):
        cells = cells[1:]
    return bool(cells) and sum(map(_is_url, cells)) >= AGREE * len(cells)


def _is_url(cell: str) -> bool:
    return cell.strip().lower().startswith(("http://", "https://"))


def _is_header(row: Row, index: int) -> bool:
    """The first row is a header unless its cell looks like an address, if perhaps a wrong one."""
    cell = row[index] if index < len(row) else ""
    return not any(character in cell for character in "./:")


def _columns(header: Row) -> str:
    shown = [one_line(cell)[:40] or str(number) for number, cell in enumerate(header, 1)]
    more = len(shown) - COLUMNS_SHOWN
    return ", ".join(shown[:COLUMNS_SHOWN]) + (f" and {more} more" if more > 0 else "")
