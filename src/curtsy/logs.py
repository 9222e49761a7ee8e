"""Configures log lines: an event name and keys; readable on a terminal, JSON elsewhere."""

import logging
import os
import sys
from collections.abc import Callable
from io import TextIOWrapper
from logging.handlers import WatchedFileHandler
from pathlib import Path
from typing import Any, TextIO, cast

import structlog
from structlog.typing import EventDict

from curtsy.privacy import open_private
from curtsy.terminal import printable


def _for_terminal(_logger: Any, _method: str, event: EventDict) -> EventDict:
    """Text is read on terminals: what pages and servers sent must not steer them."""
    for name, value in event.items():
        event[name] = value if isinstance(value, int | float) else printable(str(value))
    return event


def configure(
    level: str = "INFO", form: str = "auto", path: str = "", *,
    clean: Callable[[str], str] = str,
) -> None:  # fmt: skip
    """Sends log lines to stderr or to a file; `form` is auto, text or json. `clean` returns a line
    without secrets: a traceback may quote any text."""
    on_terminal = not path and sys.stderr.isatty()
    text = on_terminal if form == "auto" else form == "text"
    to = _Reopening(path) if path else sys.stderr
    renderer: structlog.types.Processor = (
        structlog.dev.ConsoleRenderer(
            colors=on_terminal and not os.environ.get("NO_COLOR"),
            exception_formatter=structlog.dev.plain_traceback,
        )
        if text
        else structlog.processors.JSONRenderer()
    )
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            lambda _logger, _method, event: {**event, **_on_every_line},
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True, key="ts"),
            structlog.processors.format_exc_info,
            *([_for_terminal] if text else []),
            renderer,
            lambda _logger, _method, line: clean(str(line)),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level]),
        logger_factory=structlog.PrintLoggerFactory(cast("TextIO", to)),
        cache_logger_on_first_use=False,
    )


_on_every_line: dict[str, str] = {}


def add_to_every_line(**keys: str) -> None:
    """Adds keys to every line of this process, from all its threads."""
    _on_every_line.update(keys)


class _PrivateFile(WatchedFileHandler):
    """Creates its file for the owner alone; keeps the permissions of a file that exists."""

    def _open(self) -> TextIOWrapper:
        os.close(open_private(Path(self.baseFilename), os.O_WRONLY))
        return super()._open()


class _Reopening:
    """A file that is reopened after it was moved away, as logrotate does."""

    def __init__(self, path: str) -> None:
        self._handler = _PrivateFile(path, encoding="utf-8")

    def write(self, text: str) -> None:
        self._handler.reopenIfNeeded()
        if self._handler.stream is not None:
            self._handler.stream.write(text)

    def flush(self) -> None:
        self._handler.flush()


def logger(room: str) -> structlog.typing.FilteringBoundLogger:
    log: structlog.typing.FilteringBoundLogger = structlog.get_logger(room=room)
    return log
