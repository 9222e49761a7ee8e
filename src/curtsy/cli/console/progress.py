"""Shows progress on stderr: a bar or a spinner on a terminal, else a line now and then."""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console, RenderableType
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)
from rich.text import Text

from curtsy.cli.console.output import note
from curtsy.model.counts import counted
from curtsy.terminal import printable

LINE_EVERY_SECONDS = 5.0
SPINNER_AFTER_SECONDS = 1.0


class ProgressUpdate(Protocol):
    def __call__(
        self, done: int, failed: int, total: int | None = None, waits: str | None = None
    ) -> None:
        """`total` replaces the first total: a crawl finds more pages as it goes. `waits` is a
        sentence about what the pages wait for."""


@contextmanager
def progress(total: int, *, quiet: bool = False) -> Iterator[ProgressUpdate]:
    """Yields a function that shows how many of `total` pages have ended."""
    if quiet:
        yield lambda *_, **__: None
    elif sys.stderr.isatty():
        with _bar(total) as update:
            yield update
    else:
        yield _lines(total)


@contextmanager
def spinner(doing: str | None) -> Iterator[None]:
    """Shows `doing` once it takes longer than a second, or than five without a terminal."""
    if doing is None:
        yield
        return
    waiting = _transient(SpinnerColumn(), _text(), TimeElapsedColumn())
    waiting.add_task(printable(doing))
    on_terminal = sys.stderr.isatty()
    after = SPINNER_AFTER_SECONDS if on_terminal else LINE_EVERY_SECONDS
    alarm = threading.Timer(after, waiting.start if on_terminal else lambda: note(f"{doing} …"))
    alarm.daemon = True
    alarm.start()
    try:
        yield
    finally:
        alarm.cancel()
        alarm.join()
        if waiting.live.is_started:
            waiting.stop()


@contextmanager
def _bar(total: int) -> Iterator[ProgressUpdate]:
    with _transient(_text(), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()) as bar:
        task = bar.add_task("pages", total=total)

        def update(
            done: int, failed: int, total: int | None = None, waits: str | None = None
        ) -> None:
            text = f"pages ({failed} failed)" if failed else "pages"
            bar.waits = waits
            bar.update(task, completed=done + failed, description=text, total=total)

        yield update


def _text() -> TextColumn:
    """Shows a description as it is: no part of it is markup."""
    return TextColumn("{task.description}", markup=False)


class _Display(Progress):
    """A progress display with a sentence below it."""

    waits: str | None = None

    def get_renderables(self) -> Iterator[RenderableType]:
        yield from super().get_renderables()
        if self.waits:
            yield Text(printable(self.waits))


def _transient(*columns: ProgressColumn) -> _Display:
    """A progress display that vanishes at its end and leaves standard output alone."""
    return _Display(
        *columns, console=Console(stderr=True), transient=True, redirect_stdout=False,
        redirect_stderr=False,
    )  # fmt: skip


def _lines(first_total: int) -> ProgressUpdate:
    """Prints a line now and then, and none twice."""
    printed_at, printed = time.monotonic(), set[str]()

    def update(done: int, failed: int, total: int | None = None, waits: str | None = None) -> None:
        nonlocal printed_at
        line = f"{done + failed} of {counted(total or first_total, 'page')}, {failed} failed"
        line += f". {waits}" if waits else ""
        if time.monotonic() - printed_at >= LINE_EVERY_SECONDS and line not in printed:
            printed_at = time.monotonic()
            printed.add(line)
            note(line)

    return update
