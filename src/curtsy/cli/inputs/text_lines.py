"""Reads a file or standard input line by line, in whatever encoding it is, with bounds."""

import codecs
import re
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import BinaryIO

from curtsy.cli.console.output import note
from curtsy.errors import BadRequest

STDIN = Path("-")
LONGEST_LINE = 2**20
MOST_LINES = 1_000_000
MOST_UTF16_BYTES = 2**28
"""Of a file in UTF-16, which is read at once."""
_LINE_END = re.compile(r"\r\n|\r|\n")
_UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def name_of(file: Path) -> str:
    return "standard input" if file == STDIN else str(file)


def text_lines(file: Path) -> Iterator[str]:
    """Yields the lines without their ends: UTF-8 with or without a mark, UTF-16 with one, and
    otherwise Latin-1, which a note says. Raises `BadRequest` for what is no text."""
    try:
        if file == STDIN:
            if sys.stdin.isatty():
                note("Type one URL per line; Ctrl-D ends the list.")
            opened = nullcontext(sys.stdin.buffer)
        else:
            opened = file.open("rb")  # type: ignore[assignment]  # closes the file at its end
        with opened as stream:
            yield from _decoded(stream, name_of(file))
    except OSError as error:
        raise BadRequest([f"{file} cannot be read ({error.strerror or error})."]) from None


def _decoded(stream: BinaryIO, name: str) -> Iterator[str]:
    first = stream.readline(LONGEST_LINE)
    if first.startswith(_UTF16_MARKS):
        yield from _utf16(first + stream.read(MOST_UTF16_BYTES), name)
        return
    line, number, is_utf8 = first.removeprefix(codecs.BOM_UTF8), 1, True
    while line:
        _require_text(line, number, name)
        text = _utf8(line)
        if text is None:
            if is_utf8:
                note(f"{name} is not UTF-8 (line {number}): what is not, is read as Latin-1.")
            text, is_utf8 = line.decode("latin-1"), False
        yield from _lines_in(text)
        line, number = stream.readline(LONGEST_LINE), number + 1


def _lines_in(text: str) -> list[str]:
    """Splits at ends of lines only: `splitlines` also splits at characters that JSON leaves in its
    texts, such as U+2028."""
    lines = _LINE_END.split(text)
    return lines if lines[-1] else lines[:-1]


def _utf8(line: bytes) -> str | None:
    try:
        return line.decode()
    except UnicodeDecodeError:
        return None


def _require_text(line: bytes, number: int, name: str) -> None:
    if b"\0" in line:
        raise BadRequest(
            [f"{name} is not text (line {number}): save it as text in UTF-8, or as CSV."]
        )
    if len(line) == LONGEST_LINE:
        raise BadRequest([f"{name} line {number} is longer than {LONGEST_LINE} bytes."])
    if number > MOST_LINES:
        raise BadRequest([f"{name} has more than {MOST_LINES} lines: split it."])


def _utf16(whole: bytes, name: str) -> Iterator[str]:
    if len(whole) > MOST_UTF16_BYTES:
        raise BadRequest([f"{name} is a large file in UTF-16: save it as UTF-8."])
    try:
        lines = _lines_in(whole.decode("utf-16"))
    except UnicodeDecodeError:
        raise BadRequest([f"{name} begins as UTF-16 but is not: save it as UTF-8."]) from None
    note(f"{name} is read as UTF-16.")
    yield from lines
