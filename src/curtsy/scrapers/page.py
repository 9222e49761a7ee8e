"""The fetched page that the user's own scrapers receive. It is parsed only when needed."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Literal, get_args

import orjson

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

    from curtsy.model.outcome import Reply
    from curtsy.scrapers.links import Base

Level = Literal["DEBUG", "INFO", "WARNING", "ERROR"]
LEVELS: tuple[str, ...] = get_args(Level)
MOST_LINES, LONGEST_LINE = 50, 1_000
"""Limits per page in the log of its job."""


class Broken(Exception):
    """Raised by a scraper when the page is not as expected; the text is a sentence with the
    reason."""


class Page:
    def __init__(self, reply: Reply, params: Mapping[str, Any] | None = None) -> None:
        self.url = reply.url
        """The final URL, after redirects."""
        self.status = reply.status
        self.headers: Mapping[str, str] = reply.headers
        """Names in lower case."""
        self.body = reply.body
        self.params: dict[str, Any] = dict(params or {})
        self.lines: list[tuple[str, str]] = []
        """Lines for the log of the job: level and message."""
        self._more_lines = 0

    @cached_property
    def text(self) -> str:
        """The body, decoded by the page's declared or detected charset."""
        return self._decoded[0]

    def css(self, selector: str) -> list[LexborNode]:
        """Returns the matching elements in the order of the page."""
        _check(selector)
        return self._tree.css(selector)

    def css_first(self, selector: str) -> LexborNode | None:
        _check(selector)
        return self._tree.css_first(selector)

    def json(self) -> Any:
        """Returns the body parsed as JSON; raises `Broken` when it is not JSON."""
        from curtsy.scrapers.charset import charset_in_header, text_of

        label = charset_in_header(self.headers.get("content-type"))
        try:
            return orjson.loads(text_of(self.body, "application/json", label)[0])
        except orjson.JSONDecodeError as error:
            raise Broken(f"The page is not JSON: {error}.") from None

    def absolute(self, href: str | None) -> str | None:
        """Returns a link of this page as a canonical absolute URL; None: it cannot be fetched."""
        return self._base.absolute(href)

    def log(self, message: object, level: Level = "INFO") -> None:
        """Adds a line to the log of the job, up to 50 lines of 1,000 characters per page."""
        if level not in LEVELS:
            raise ValueError(f"{level!r} is not a level: use one of {', '.join(LEVELS)}")
        if len(self.lines) < MOST_LINES - 1:
            self.lines.append((level, str(message)[:LONGEST_LINE]))
            return
        self._more_lines += 1
        self.lines[MOST_LINES - 1 :] = [("WARNING", f"{self._more_lines} more lines were dropped.")]

    @cached_property
    def _tree(self) -> LexborHTMLParser:
        from selectolax.lexbor import LexborHTMLParser

        return LexborHTMLParser(self.text.replace("\0", ""))

    @cached_property
    def _base(self) -> Base:
        from curtsy.scrapers.links import base_of

        return base_of(self._tree, self.url, self._decoded[1])

    @cached_property
    def _decoded(self) -> tuple[str, str]:
        """The text and its codec."""
        from curtsy.scrapers.charset import text_of

        return text_of(self.body, self.headers.get("content-type"))


@lru_cache(maxsize=1_000)
def _check(selector: str) -> None:
    from curtsy.scrapers.selectors import problem_of

    if (problem := problem_of(selector)) is not None:
        raise ValueError(f"The selector {problem}.")
