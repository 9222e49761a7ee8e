"""How far a job is, on stderr: a bar on a terminal, a line now and then elsewhere."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

LINE_EVERY_SECONDS = 5.0


class Tells(Protocol):
    def __call__(self, done: int, failed: int) -> None: ...


@contextmanager
def progress(total: int, *, quiet: bool = False) -> Iterator[Tells]:
    if quiet:
        yield lambda *_: None
    elif sys.stderr.isatty():
        with _bar(total) as tells:
            yield tells
    else:
        yield _lines(total)


@contextmanager
def _bar(total: int) -> Iterator[Tells]:
    columns = (
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
    )  # fmt: skip
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("pages", total=total)

        def tells(done: int, failed: int) -> None:
            words = f"pages ({failed} failed)" if failed else "pages"
            bar.update(task, completed=done + failed, description=words)

        yield tells


def _lines(total: int) -> Tells:
    said_at = time.monotonic()

    def tells(done: int, failed: int) -> None:
        nonlocal said_at
        if time.monotonic() - said_at >= LINE_EVERY_SECONDS:
            said_at = time.monotonic()
            print(f"{done + failed} of {total} pages, {failed} failed", file=sys.stderr, flush=True)

    return tells
