"""Tracebacks for authors of scrapers: they begin at the scraper's own code."""

import contextlib
import traceback
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

_FRAMES_SHOWN = 30
_HERE = Path(__file__).parent
_OURS = frozenset({
    __file__, contextlib.__file__, str(_HERE.parent / "model/record_models.py"),
    *(str(_HERE / name) for name in ("custom.py", "json_values.py", "records/reader.py")),
    str(_HERE.parent / "extract/child_main.py"),
})  # fmt: skip


def trace_of(error: BaseException) -> str | None:
    """Returns the traceback; None: the error was not raised in the scraper."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename in _OURS:
        trace = trace.tb_next
    if trace is None:
        return None
    lines = traceback.format_exception(type(error), error, trace, limit=-_FRAMES_SHOWN)
    return "".join(lines)


_LINES = "_curtsy_lines"


def attach_lines(error: BaseException, lines: Sequence[tuple[str, str]]) -> None:
    """Attaches the scraper's log lines to its error."""
    with suppress(AttributeError):  # an exception class may have no attributes
        setattr(error, _LINES, tuple(lines))


def attached_lines(error: BaseException) -> tuple[tuple[str, str], ...]:
    attached: tuple[tuple[str, str], ...] = getattr(error, _LINES, ())
    return attached
