"""URLs as they are given to a command: as words, in a file, or on standard input."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from curtsy.cli.console.errors import WrongUsage
from curtsy.cli.console.output import note
from curtsy.cli.console.text import in_utf8, one_line
from curtsy.errors import BadRequest
from curtsy.model.urls import BadUrl, canonical

Urls = Annotated[
    list[str] | None,
    typer.Argument(metavar="URL", show_default=False, help="Pages, as https://example.com/."),
]
File = Annotated[
    Path | None,
    typer.Option(
        "--file", "-f", metavar="FILE",
        help="URLs from this file, one a line; # begins a comment; - is standard input.",
    ),
]  # fmt: skip
PROBLEMS_SHOWN = 3
STDIN = Path("-")


def read_urls(urls: list[str] | None, file: Path | None) -> list[str]:
    """All of them, each once; empty lines and lines that begin with # are left out."""
    found = [("", url) for url in urls or []]
    if file is not None:
        lines = enumerate(read_text(file).splitlines(), 1)
        stripped = [(f"{file} line {number}: ", line.strip()) for number, line in lines]
        found += [(at, line) for at, line in stripped if line and not line.startswith("#")]
    if not found:
        raise WrongUsage("There are no URLs: give some as arguments, or a file with --file.")
    kept: dict[str, str] = {}
    problems = []
    for at, url in found:
        try:
            kept.setdefault(_page(url), url)
        except BadUrl as bad:
            problems.append(f"{at}{_shown(url)} {bad}{_hint(url)}")
    if problems:
        more = len(problems) - PROBLEMS_SHOWN
        said = "; ".join(problems[:PROBLEMS_SHOWN]) + (f"; and {more} more" if more > 0 else "")
        raise BadRequest([f"{said}."])
    return list(kept.values())


def read_text(file: Path) -> str:
    """Windows may have put a mark at its beginning."""
    try:
        if file != STDIN:
            return file.read_text(encoding="utf-8-sig")
        if sys.stdin.isatty():
            note("Type URLs, one a line; Ctrl-D ends them.")
        return sys.stdin.buffer.read().decode("utf-8-sig")
    except OSError as error:
        raise BadRequest([f"{file} cannot be read ({error.strerror or error})."]) from None
    except UnicodeDecodeError:
        raise BadRequest(
            [f"{file} is no text in UTF-8: save it as UTF-8, one URL a line."]
        ) from None


def _page(url: str) -> str:
    """What makes it the same page."""
    if not url.isascii() and in_utf8(url) != url:
        raise BadUrl("is no text in UTF-8")
    return canonical(url).text


def _shown(url: str) -> str:
    text = one_line(in_utf8(url))
    return f"'{text}'" if len(text) <= 80 else f"'{text[:79]}…'"


def _hint(url: str) -> str:
    """Most forget only the beginning."""
    try:
        _page(f"https://{url}")
    except BadUrl:
        return ""
    return "" if "://" in url or "." not in url else f" (is https://{url} meant?)"
