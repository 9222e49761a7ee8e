"""Writes a job's results as text, Markdown or lines of JSON, and collects its failures."""

import shutil
import sys
import textwrap
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, TextIO

import typer

from curtsy.cli.console.error_output import WrongUsage
from curtsy.cli.console.output import json_line, write
from curtsy.cli.console.progress import ProgressUpdate
from curtsy.cli.console.text import in_utf8, one_line
from curtsy.cli.views.records import as_markdown, as_text, record_of
from curtsy.client import AsyncJob
from curtsy.errors import BadRequest
from curtsy.terminal import printable


class Form(StrEnum):
    TEXT = "text"
    MARKDOWN = "markdown"
    JSON = "json"


class Writer:
    """Writes results one after the other to a file or standard output."""

    def __init__(self, form: Form, to: TextIO, where: Path | None) -> None:
        self.form = form
        self.to_file = where is not None
        self._to, self._where = to, str(where or "Standard output")
        self._width = min(shutil.get_terminal_size().columns, WIDEST) if to.isatty() else None
        self._written = 0
        self._page_of_last: str | None = None
        """The page of the last record; None: the last result was no record of a page."""

    def write(self, result: dict[str, Any]) -> None:
        if self.form is Form.JSON:
            text = json_line(result, self._to)
        elif (record := record_of(result)) is not None:
            text = self._record(record, result)
        elif "error" in result:
            return
        else:
            text = f"{RULE if self._written else ''}{self._shown(result)}"
            self._page_of_last = None
        write(self._to, f"{text}\n", where=self._where)
        self._written += 1

    def _record(self, record: Mapping[str, Any], result: Mapping[str, Any]) -> str:
        """Formats a record; the first of a page stands under the URL of the page."""
        space = "\n" if self._written else ""
        shown = as_markdown(record) if self.form is Form.MARKDOWN else as_text(record)
        page = result.get("article_id")
        if page is None or page == self._page_of_last:
            return f"{space}{shown}"
        self._page_of_last = page
        url = one_line(result["url"])
        return f"{space}{f'## {url}' if self.form is Form.MARKDOWN else url}\n\n{shown}"

    def _shown(self, result: dict[str, Any]) -> str:
        title = one_line(result.get("title") or result["url"])
        facts = [result.get("byline"), result.get("date"), result["url"]]
        line = " · ".join(fact for fact in facts if fact)
        if self.form is Form.MARKDOWN:
            return f"# {title}\n\n*{line}*\n\n{result.get('markdown') or result['content']}"
        return f"{title}\n{line}\n\n{self._wrapped(result['content'])}"

    def _wrapped(self, content: str) -> str:
        """Wraps text between words on a terminal; elsewhere a paragraph stays one line."""
        if self._width is None:
            return content
        return "\n".join(
            textwrap.fill(
                printable(line), self._width, break_long_words=False, break_on_hyphens=False
            )
            for line in content.splitlines()
        )


@dataclass(slots=True)
class Written:
    done: int = 0
    """Pages that were scraped, or for a run of a site its records."""
    failed: int = 0
    cancelled: int = 0
    """Pages that were not scraped; they count neither as results nor as failures."""
    first_cancelled: list[str] = field(default_factory=list)
    """The URLs of the first of them."""
    failures: list[str] = field(default_factory=list)
    """A line for each failure; empty for JSON, which contains the failures itself."""
    _last_page: str | None = None

    def add(self, result: Mapping[str, Any]) -> None:
        """Counts a result; the records of a page, which come together, count as one page."""
        page = result.get("article_id") if "record_key" in result else None
        self.done += page is None or page != self._last_page
        self._last_page = page


CANCELLED = 5
"""The most URLs of cancelled pages that are kept."""


LEADS_ON = ("crawl", "runs")
"""Doors whose pages may be none of the results: feeds, listings."""


async def write_all(job: AsyncJob, writer: Writer, update: ProgressUpdate) -> Written:
    written, before = Written(), await job.status()
    async for found in job.results():
        write_one(found, writer, written)
        update(written.done, written.failed)
    if before.body.door not in LEADS_ON:
        # A page without a record has no row, and yet it was scraped.
        written.done = max(written.done, before.completed)
    return written


def write_one(found: dict[str, Any], writer: Writer, written: Written) -> None:
    """Writes a result unless its page was cancelled, and counts it."""
    if not is_record(found) and found.get("kind") == "cancelled":
        written.cancelled += 1
        if written.cancelled <= CANCELLED:
            written.first_cancelled.append(one_line(found["url"]))
        return
    writer.write(found)
    if is_record(found) or "error" not in found:
        written.add(found)
        return
    written.failed += 1
    if writer.form is not Form.JSON:
        written.failures.append(f"{one_line(found['url'])}: {found['error']}")


RULE = "\n\n" + "-" * 72 + "\n\n"
WIDEST = 100
"""Widest line on a terminal, for readability."""


ENDINGS = {
    ".txt": Form.TEXT, ".md": Form.MARKDOWN, ".markdown": Form.MARKDOWN, ".jsonl": Form.JSON,
    ".ndjson": Form.JSON, ".json": Form.JSON,
}  # fmt: skip
"""The format that each ending of a file chooses."""
OTHER_FORMATS = frozenset({
    ".csv", ".tsv", ".xlsx", ".xls", ".ods", ".parquet", ".feather", ".warc", ".atom", ".rss",
    ".xml", ".jsonfeed", ".html", ".htm", ".pdf", ".db", ".sqlite", ".gz", ".zst", ".zip",
})  # fmt: skip
"""Endings of formats that are not written: refused also where --format is given."""

Out = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Write results to this file; its ending, .txt, .md or .jsonl, chooses the format.",
    ),
]
Format = Annotated[
    Form | None,
    typer.Option("--format", metavar="FORMAT", help="text, markdown or json (a line per result)."),
]
AsLines = Annotated[bool, typer.Option("--json", help="The same as --format json, for programs.")]


def choose_form(chosen: Form | None, out: Path | None, *, as_lines: bool) -> Form:
    """The format that the options name, or else the ending of the file; text without both."""
    ending = out.suffix.lower() if out is not None else ""
    if ending in OTHER_FORMATS:
        raise WrongUsage(_refusal(ending))
    if as_lines:
        if chosen not in (None, Form.JSON):
            raise WrongUsage(f"--json and --format {chosen} exclude each other.")
        return Form.JSON
    if chosen is not None:
        return chosen
    if ending and ending not in ENDINGS:
        raise WrongUsage(f"{_refusal(ending)} For another ending, give --format.")
    return ENDINGS.get(ending, Form.TEXT)


def _refusal(ending: str) -> str:
    written = "; ".join(
        f"{', '.join(known for known, form in ENDINGS.items() if form is one)} ({one})"
        for one in Form
    )
    return f"--out does not write {one_line(in_utf8(ending))!r} files: it writes {written}."


@contextmanager
def open_output(out: Path | None) -> Iterator[TextIO]:
    """Yields standard output, or a file that replaces `out` once it is complete."""
    if out is None:
        yield sys.stdout
        return
    replaces = out.is_file() or not out.exists()
    part = out.with_name(f"{out.name}.part") if replaces else out
    try:
        to = part.open("w", encoding="utf-8")
    except OSError as error:
        raise BadRequest([f"{out} cannot be written ({error.strerror})."]) from None
    try:
        yield to
        to.close()
        if replaces:
            part.replace(out)
    finally:
        to.close()
        if replaces:
            part.unlink(missing_ok=True)


def is_record(result: Mapping[str, Any]) -> bool:
    """Whether the result is a record, whose fields may have any names."""
    return record_of(result) is not None
