"""Configures log lines: an event name and keys; readable on a terminal, JSON elsewhere."""

import logging
import os
import sys
from collections.abc import Callable
from io import TextIOWrapper
from logging.handlers import WatchedFileHandler
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, cast

from curtsy.privacy import open_private
from curtsy.terminal import printable

if TYPE_CHECKING:
    from structlog.typing import EventDict


class _Configuration:
    """What `configure` was told. Loads structlog for the first line that is written: most commands
    write none, and it takes longer to load than some of them run."""

    def __init__(self) -> None:
        self.level = logging.NOTSET
        self.pending: Callable[[], None] | None = None

    def apply(self) -> None:
        pending, self.pending = self.pending, None
        if pending is not None:
            pending()


CONFIGURATION = _Configuration()


class Logger:
    """Writes lines of one room; those below the configured level cost a comparison."""

    def __init__(self, room: str) -> None:
        self._room = room

    def debug(self, event: str, **keys: Any) -> None:
        self._write(logging.DEBUG, "debug", event, keys)

    def info(self, event: str, **keys: Any) -> None:
        self._write(logging.INFO, "info", event, keys)

    def warning(self, event: str, **keys: Any) -> None:
        self._write(logging.WARNING, "warning", event, keys)

    def error(self, event: str, **keys: Any) -> None:
        self._write(logging.ERROR, "error", event, keys)

    def exception(self, event: str, **keys: Any) -> None:
        """An error with the traceback of the exception that is being handled."""
        self._write(logging.ERROR, "exception", event, keys)

    def _write(self, level: int, method: str, event: str, keys: dict[str, Any]) -> None:
        if level < CONFIGURATION.level:
            return
        CONFIGURATION.apply()
        import structlog

        getattr(structlog.get_logger(room=self._room), method)(event, **keys)


def logger(room: str) -> Logger:
    return Logger(room)


def _for_terminal(_logger: Any, _method: str, event: "EventDict") -> "EventDict":
    """Text is read on terminals: what pages and servers sent must not steer them."""
    for name, value in event.items():
        event[name] = value if isinstance(value, int | float) else printable(str(value))
    return event


def level_number(level: str) -> int:
    return logging.getLevelNamesMapping()[level]


def configure(
    level: str = "INFO", form: str = "auto", path: str = "", *,
    clean: Callable[[str], str] = str,
) -> None:  # fmt: skip
    """Sends log lines to stderr or to a file; `form` is auto, text or json. `clean` returns a line
    without secrets: a traceback may quote any text."""
    on_terminal = not path and sys.stderr.isatty()
    text = on_terminal if form == "auto" else form == "text"
    colors = on_terminal and not os.environ.get("NO_COLOR")
    to = cast("TextIO", _Reopening(path) if path else sys.stderr)
    CONFIGURATION.level = level_number(level)
    CONFIGURATION.pending = lambda: _configure_structlog(to, clean, text=text, colors=colors)


def _configure_structlog(
    to: TextIO, clean: Callable[[str], str], *, text: bool, colors: bool
) -> None:
    import structlog

    renderer: structlog.types.Processor = (
        structlog.dev.ConsoleRenderer(
            colors=colors,
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
        wrapper_class=structlog.make_filtering_bound_logger(CONFIGURATION.level),
        logger_factory=structlog.WriteLoggerFactory(to),
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
