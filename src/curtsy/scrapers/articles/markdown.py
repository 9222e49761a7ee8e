"""Markdown by the rules of CommonMark, with the tables of GitHub: text that looks like a mark is
escaped, so that it stays text."""

import re
from collections.abc import Sequence

_SPECIAL = re.compile(
    r"[\\`*\[\]<]|(?<![^\W_])_|_(?![^\W_])|&(?=#?\w{1,32};)|~(?=~)|(?<=~)~|(?<=!)(?=\[)"
)
_AT_LINE_START = re.compile(
    r"^(?:(#{1,6}|[-+](?=[ \t]|$)|[>=|:]|-{2,}|~{3,})|(\d{1,9})([.)])(?=[ \t]|$))", re.M
)
_FENCES = re.compile(r"`+")


def escape(text: str) -> str:
    """Escapes what would be a mark within a line."""
    return _SPECIAL.sub(r"\\\g<0>", text)


def escape_line_starts(markdown: str) -> str:
    """Escapes what would make a heading, a list or a quotation of a line."""
    return _AT_LINE_START.sub(_escaped_start, markdown)


def _escaped_start(found: re.Match[str]) -> str:
    return f"\\{found[1]}" if found[1] else f"{found[2]}\\{found[3]}"


def code_span(text: str) -> str:
    """Returns inline code between more backticks than stand in it."""
    fence = "`" * (_longest(text) + 1) if "`" in text else "`"
    space = " " if text[:1] == "`" or text[-1:] == "`" else ""
    return f"{fence}{space}{text}{space}{fence}"


def code_block(text: str, language: str = "") -> str:
    fence = "`" * max(3, _longest(text) + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def _longest(text: str) -> int:
    return max(map(len, _FENCES.findall(text)), default=0)


def emphasised(marked: str, mark: str) -> str:
    """Puts marks around text, inside of the space around it, where marks would be text."""
    inner = marked.strip()
    if not inner:
        return marked
    at = marked.index(inner)
    return f"{marked[:at]}{mark}{inner}{mark}{marked[at + len(inner) :]}"


def link(marked: str, url: str) -> str:
    inner = marked.strip()
    if not inner:
        return marked
    at = marked.index(inner)
    target = url.replace("(", "%28").replace(")", "%29")
    return f"{marked[:at]}[{inner}]({target}){marked[at + len(inner) :]}"


def image(alt: str, url: str) -> str:
    target = url.replace("(", "%28").replace(")", "%29")
    return f"![{escape(alt)}]({target})"


def table(rows: Sequence[Sequence[str]], *, has_header: bool) -> str:
    """The first row is the header; a table without one gets an empty one: it must have one."""
    width = max(map(len, rows))
    header = list(rows[0]) if has_header else []
    lines = [_row([*header, *[""] * (width - len(header))]), _row(["---"] * width)]
    lines += map(_row, rows[1:] if has_header else rows)
    return "\n".join(lines)


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
