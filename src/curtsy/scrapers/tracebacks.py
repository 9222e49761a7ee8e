"""Tracebacks for those who write scrapers: they begin where the scraper does."""

import traceback
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

_FRAMES_SHOWN = 30
_HERE = Path(__file__).parent
_OURS = frozenset({
    __file__, *(str(_HERE / name) for name in ("own.py", "plain.py")),
    str(_HERE.parent / "extract/child_main.py"),
})  # fmt: skip


def trace_of(error: BaseException) -> str | None:
    """None: it was not within the scraper."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename in _OURS:
        trace = trace.tb_next
    if trace is None:
        return None
    lines = traceback.format_exception(type(error), error, trace, limit=-_FRAMES_SHOWN)
    return "".join(lines)


_LINES = "_curtsy_lines"


def keep_lines(error: BaseException, lines: Sequence[tuple[str, str]]) -> None:
    """What the scraper had said when it failed goes with its error."""
    with suppress(AttributeError):  # of a class that takes no attributes
        setattr(error, _LINES, tuple(lines))


def lines_before(error: BaseException) -> tuple[tuple[str, str], ...]:
    kept: tuple[tuple[str, str], ...] = getattr(error, _LINES, ())
    return kept
