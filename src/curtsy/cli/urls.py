"""URLs as they are given to a command: as words, in a file, or on standard input."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from curtsy.errors import BadRequest
from curtsy.model.urls import BadUrl, canonical

Urls = Annotated[list[str] | None, typer.Argument(metavar="URL…", show_default=False)]
File = Annotated[
    Path | None,
    typer.Option("--file", "-f", help="URLs from this file, one a line; - is standard input."),
]


def given(urls: list[str] | None, file: Path | None) -> list[str]:
    """All of them, each once; empty lines and lines that begin with # are left out."""
    found = list(urls or [])
    if file is not None:
        try:
            text = sys.stdin.read() if str(file) == "-" else file.read_text()
        except (OSError, UnicodeDecodeError) as error:
            raise BadRequest([f"{file} cannot be read ({error})."]) from None
        lines = (line.strip() for line in text.splitlines())
        found += [line for line in lines if line and not line.startswith("#")]
    if not found:
        raise BadRequest(["No URLs: give some as arguments, or with --file."])
    kept: dict[str, str] = {}
    for url in found:
        kept.setdefault(_page(url), url)
    return list(kept.values())


def _page(url: str) -> str:
    """What makes it the same page; what is no URL is left for the API to refuse."""
    try:
        return canonical(url).text
    except BadUrl:
        return url
