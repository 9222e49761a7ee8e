"""Log lines: an event name plus keys, in glossary words. Readable on a terminal, JSON elsewhere."""

import logging
import sys

import structlog


def configure(level: str = "INFO", form: str = "auto") -> None:
    """Send log lines to stderr; `form` is auto, text or json."""
    text = sys.stderr.isatty() if form == "auto" else form == "text"
    renderer: structlog.types.Processor = (
        structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)
        if text
        else structlog.processors.JSONRenderer()
    )
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True, key="ts"),
            *([] if text else [structlog.processors.format_exc_info]),
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level]),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=False,
    )


def logger(room: str) -> structlog.typing.FilteringBoundLogger:
    log: structlog.typing.FilteringBoundLogger = structlog.get_logger(room=room)
    return log
