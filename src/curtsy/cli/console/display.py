"""A bar or a spinner on a terminal. Loads `rich`, which takes longer than most commands do."""

from collections.abc import Iterator
from datetime import UTC, datetime

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

from curtsy.cli.console.text import span
from curtsy.terminal import printable


class Display(Progress):
    """A progress display with a sentence below it, which counts down."""

    waits: str | None = None
    until: datetime | None = None

    def get_renderables(self) -> Iterator[RenderableType]:
        yield from super().get_renderables()
        if self.waits:
            yield Text(printable(f"{self.waits}{_left(self.until)}"))


def _left(until: datetime | None) -> str:
    """The time that is left until then, as far as there is any."""
    seconds = (until - datetime.now(UTC)).total_seconds() if until is not None else 0
    return f" ({span(seconds)} left)" if seconds >= 1 else ""


def bar() -> Display:
    return _transient(_text(), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())


def started_spinner(doing: str, began_at: float) -> Display:
    """Returns a spinner that turns; it counts the time from `began_at`, of the monotonic clock."""
    waiting = _transient(SpinnerColumn(), _text(), TimeElapsedColumn())
    waiting.add_task(printable(doing))
    waiting.tasks[0].start_time = began_at
    waiting.start()
    return waiting


def _text() -> TextColumn:
    """Shows a description as it is: no part of it is markup."""
    return TextColumn("{task.description}", markup=False)


def _transient(*columns: ProgressColumn) -> Display:
    """A progress display that vanishes at its end and leaves standard output alone."""
    return Display(
        *columns, console=Console(stderr=True), transient=True, redirect_stdout=False,
        redirect_stderr=False,
    )  # fmt: skip
