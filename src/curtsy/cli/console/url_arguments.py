"""Reads the URLs of a command: from arguments, a file or standard input."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from curtsy.cli.console.error_output import WrongUsage
from curtsy.cli.console.output import note
from curtsy.cli.console.text import in_utf8, one_line
from curtsy.errors import BadRequest
from curtsy.model.urls import BadUrl, canonical

Urls = Annotated[
    list[str] | None,
    typer.Argument(metavar="URL", show_default=False, help="Pages, such as https://example.com/."),
]
File = Annotated[
    Path | None,
    typer.Option(
        "--file", "-f", metavar="FILE",
        help="Read URLs from this file, one per line; # begins a comment; - is standard input.",
    ),
]  # fmt: skip
PROBLEMS_SHOWN = 3
STDIN = Path("-")


def read_urls(urls: list[str] | None, file: Path | None) -> list[str]:
    """Returns every URL once; skips empty lines and lines that begin with #."""
    found = [("", url) for url in urls or []]
    if file is not None:
        lines = enumerate(read_text(file).splitlines(), 1)
        stripped = [(f"{file} line {number}: ", line.strip()) for number, line in lines]
        found += [(at, line) for at, line in stripped if line and not line.startswith("#")]
    if not found:
        raise WrongUsage("There are no URLs: give them as arguments, or in a file with --file.")
    pages: dict[str, str] = {}
    problems = []
    for at, url in found:
        try:
            pages.setdefault(_page(url), url)
        except BadUrl as bad:
            problems.append(f"{at}{_shown(url)} {bad}{_hint(url)}")
    if problems:
        more = len(problems) - PROBLEMS_SHOWN
        text = "; ".join(problems[:PROBLEMS_SHOWN]) + (f"; and {more} more" if more > 0 else "")
        raise BadRequest([f"{text}."])
    return list(pages.values())


def read_text(file: Path) -> str:
    """Reads a UTF-8 file, with or without a byte order mark."""
    try:
        if file != STDIN:
            return file.read_text(encoding="utf-8-sig")
        if sys.stdin.isatty():
            note("Type one URL per line; Ctrl-D ends the list.")
        return sys.stdin.buffer.read().decode("utf-8-sig")
    except OSError as error:
        raise BadRequest([f"{file} cannot be read ({error.strerror or error})."]) from None
    except UnicodeDecodeError:
        raise BadRequest(
            [f"{file} is not UTF-8 text: save it as UTF-8, one URL per line."]
        ) from None


def _page(url: str) -> str:
    """The canonical URL, which is the same for the same page."""
    if not url.isascii() and in_utf8(url) != url:
        raise BadUrl("is not UTF-8 text")
    return canonical(url).text


def _shown(url: str) -> str:
    text = one_line(in_utf8(url))
    return f"'{text}'" if len(text) <= 80 else f"'{text[:79]}…'"


def _hint(url: str) -> str:
    """Suggests https:// where only that is missing."""
    try:
        _page(f"https://{url}")
    except BadUrl:
        return ""
    return "" if "://" in url or "." not in url else f" (did you mean https://{url}?)"
