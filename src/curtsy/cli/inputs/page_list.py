"""Reads the pages that a file or standard input names, whatever form it has."""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from curtsy.cli.inputs.given_page import GivenPage
from curtsy.cli.inputs.json_pages import json_pages
from curtsy.cli.inputs.table import TABLES, table_pages
from curtsy.cli.inputs.text_lines import name_of, text_lines


def given_pages(file: Path, column: str | None) -> Iterator[GivenPage]:
    """A table if a column is named or the file's ending says so, JSON if it begins so, else one URL
    a line."""
    lines = text_lines(file)
    if column is not None or file.suffix.lower() in TABLES:
        yield from table_pages(lines, file, column)
        return
    before: list[str] = []
    for line in lines:
        before.append(line)
        if line.strip():
            break
    whole = chain(before, lines)
    if before and before[-1].lstrip().startswith(("{", "[")):
        yield from json_pages(whole, name_of(file))
    else:
        yield from _line_pages(whole, name_of(file))


def _line_pages(lines: Iterator[str], name: str) -> Iterator[GivenPage]:
    """Skips blank lines and those that begin with #."""
    for number, line in enumerate(lines, 1):
        url = line.strip()
        if url and not url.startswith("#"):
            yield GivenPage(f"{name} line {number}", url)
