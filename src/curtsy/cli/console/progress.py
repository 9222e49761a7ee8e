"""Shows progress on stderr: a bar or a spinner on a terminal, else a line now and then."""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from curtsy.cli.console.output import note
from curtsy.model.counts import counted

if TYPE_CHECKING:
    from curtsy.cli.console.display import Display

LINE_EVERY_SECONDS = 5.0
SPINNER_AFTER_SECONDS = 1.0


class ProgressUpdate(Protocol):
    def __call__(
        self, done: int, failed: int, total: int | None = None, waits: str | None = None,
        until: datetime | None = None,
    ) -> None:  # fmt: skip
        """`total` replaces the first total: a crawl finds more pages as it goes. `waits` is a
        sentence about what the pages wait for, `until` when that ends."""


@contextmanager
def progress(
    total: int, *, quiet: bool = False, plain: bool = False
) -> Iterator[ProgressUpdate]:  # fmt: skip
    """Yields a function that shows how many of `total` pages have ended: `plain`, in lines on a
    terminal, too, since another program may write there."""
    if quiet:
        yield lambda *_, **__: None
    elif sys.stderr.isatty() and not plain:
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
    on_terminal, began_at, shown = sys.stderr.isatty(), time.monotonic(), list["Display"]()

    def show() -> None:
        from curtsy.cli.console.display import started_spinner

        shown.append(started_spinner(doing, began_at))

    after = SPINNER_AFTER_SECONDS if on_terminal else LINE_EVERY_SECONDS
    alarm = threading.Timer(after, show if on_terminal else lambda: note(f"{doing} …"))
    alarm.daemon = True
    alarm.start()
    try:
        yield
    finally:
        alarm.cancel()
        alarm.join()
        for display in shown:
            display.stop()


@contextmanager
def _bar(total: int) -> Iterator[ProgressUpdate]:
    from curtsy.cli.console.display import bar

    with bar() as shown:
        task = shown.add_task("pages", total=total)

        def update(
            done: int, failed: int, total: int | None = None, waits: str | None = None,
            until: datetime | None = None,
        ) -> None:  # fmt: skip
            text = f"pages ({failed} failed)" if failed else "pages"
            shown.waits, shown.until = waits, until
            shown.update(task, completed=done + failed, description=text, total=total)

        yield update


def _lines(first_total: int) -> ProgressUpdate:
    """Prints a line now and then, and none twice."""
    printed_at, printed = time.monotonic(), set[str]()

    def update(
        done: int, failed: int, total: int | None = None, waits: str | None = None,
        until: datetime | None = None,  # noqa: ARG001 - the sentence says it
    ) -> None:  # fmt: skip
        nonlocal printed_at
        line = f"{done + failed} of {counted(total or first_total, 'page')}, {failed} failed"
        line += f". {waits}" if waits else ""
        if time.monotonic() - printed_at >= LINE_EVERY_SECONDS and line not in printed:
            printed_at = time.monotonic()
            printed.add(line)
            note(line)

    return update
