"""The options that name URLs, and the articles that they come to: each page once, checked."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from curtsy.cli.console.error_output import WrongUsage
from curtsy.cli.console.output import note
from curtsy.cli.console.text import counted, in_utf8, one_line
from curtsy.cli.inputs.given_page import GivenPage
from curtsy.cli.inputs.page_list import given_pages
from curtsy.cli.inputs.text_lines import STDIN, text_lines
from curtsy.errors import BadRequest
from curtsy.model.urls import BadUrl, canonical

Urls = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="URL", show_default=False,
        help="Pages, such as https://example.com/; - reads them from standard input.",
    ),
]  # fmt: skip
File = Annotated[
    Path | None,
    typer.Option(
        "--file", "-f", metavar="FILE",
        help="Read URLs from this file: one per line (# begins a comment), a CSV table, or JSON "
        "lines with a url; - is standard input.",
    ),
]  # fmt: skip
Column = Annotated[
    str | None,
    typer.Option(
        "--column", metavar="NAME",
        help="The file is a table: read URLs from this column, by its name or its number from 1.",
    ),
]  # fmt: skip
SkipInvalid = Annotated[
    bool,
    typer.Option(
        "--skip-invalid",
        help="Leave out what is no URL, and say so on stderr, instead of refusing all.",
    ),
]
PROBLEMS_SHOWN, SKIPPED_SHOWN = 3, 5
MOST_URLS = 100_000
"""The most that one job takes."""

Refusal = Callable[[str], str | None]
"""Takes a host, returns why no request may go there."""


def read_urls(urls: list[str] | None, file: Path | None) -> list[str]:
    """Returns every URL once."""
    return [article["url"] for article in read_articles(urls, file)]


def read_articles(
    urls: list[str] | None, file: Path | None, column: str | None = None, *,
    skip_invalid: bool = False, refusal: Refusal = lambda _host: None,
) -> list[dict[str, Any]]:  # fmt: skip
    """Returns an article for every page, once. Pages that are invalid, or whose host `refusal`
    names, are an error; with `skip_invalid` they are left out, and a note says which."""
    problems = _Problems(limit=SKIPPED_SHOWN if skip_invalid else PROBLEMS_SHOWN)
    articles: dict[str, dict[str, Any]] = {}
    given = merged = 0
    for page in _given(urls, file, column):
        given += 1
        try:
            key = _checked(page, refusal)
        except BadUrl as bad:
            problems.add(page, bad)
            continue
        merged += key in articles
        articles.setdefault(key, {"url": page.url} | page.labels)
        if len(articles) > MOST_URLS:
            raise BadRequest([f"One job takes {MOST_URLS} URLs, and there are more: split them."])
    if not given:
        raise WrongUsage("There are no URLs: give them as arguments, or in a file with --file.")
    if skip_invalid:
        problems.note_skipped(given, merged)
    else:
        problems.raise_if_any()
    return list(articles.values())


def read_text(file: Path) -> str:
    """Reads a text file whole."""
    return "\n".join(text_lines(file))


def _given(urls: list[str] | None, file: Path | None, column: str | None) -> Iterator[GivenPage]:
    from_stdin = str(STDIN) in (urls or [])
    if from_stdin and file not in (None, STDIN):
        raise WrongUsage("- reads standard input, and --file a file: give one of them.")
    source = STDIN if from_stdin else file
    if column is not None and source is None:
        raise WrongUsage("--column names a column of a table: give the table with --file.")
    yield from (GivenPage("", url) for url in urls or [] if url != str(STDIN))
    if source is not None:
        yield from given_pages(source, column)


def _checked(page: GivenPage, refusal: Refusal) -> str:
    """The canonical URL, which is the same for the same page."""
    if page.problem is not None:
        raise BadUrl(page.problem)
    if not page.url.isascii() and in_utf8(page.url) != page.url:
        raise BadUrl("is not UTF-8 text")
    url = canonical(page.url)
    if (why := refusal(url.host)) is not None:
        raise BadUrl(f"leads to {url.host}, which is {why}")
    return url.text


class _Problems:
    """Counts pages that are invalid and keeps sentences about the first."""

    def __init__(self, *, limit: int) -> None:
        self._limit, self._number = limit, 0
        self._first: list[str] = []

    def add(self, page: GivenPage, bad: BadUrl) -> None:
        self._number += 1
        if len(self._first) < self._limit:
            at = f"{page.at}: " if page.at else ""
            hint = _hint(page.url) if page.problem is None else ""
            self._first.append(f"{at}{_shown(page.url)} {bad}{hint}")

    def raise_if_any(self) -> None:
        if self._first:
            more = f"; and {self._more} more" if self._more else ""
            raise BadRequest([f"{'; '.join(self._first)}{more}."])

    def note_skipped(self, given: int, merged: int) -> None:
        """Raises if nothing else is left."""
        for sentence in self._first:
            note(f"{sentence}.")
        if self._more:
            note(f"and {self._more} more.")
        if self._number == given:
            raise WrongUsage(f"No valid URL is left of the {given} given.")
        parts = [f"{self._number} of {given} left out as invalid"] if self._number else []
        parts += [f"{counted(merged, 'duplicate')} merged"] if merged else []
        if parts:
            note(f"{', '.join(parts)}.")

    @property
    def _more(self) -> int:
        return self._number - len(self._first)


def _shown(url: str) -> str:
    text = one_line(in_utf8(url))
    return f"'{text}'" if len(text) <= 80 else f"'{text[:79]}…'"


def _hint(url: str) -> str:
    """Suggests https:// where only that is missing."""
    if "://" in url or "." not in url:
        return ""
    try:
        canonical(f"https://{url}")
    except BadUrl:
        return ""
    return f" (did you mean https://{url}?)"
