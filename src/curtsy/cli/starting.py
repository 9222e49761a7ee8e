"""What every command does first: settings, log lines, a loop; and how an error is told."""

import asyncio
import os
import sys
from collections.abc import Coroutine
from typing import Any, TypeVar

import typer

from curtsy import logs
from curtsy.config import Settings, load
from curtsy.config.obsolete import obsolete_variables
from curtsy.config.reading import unknown_variables
from curtsy.errors import BadSetting, CurtsyError

T = TypeVar("T")

log = logs.logger("cli")


def settings_for(**flags: Any) -> Settings:
    """The settings, with log lines already going where they say."""
    settings = load(**flags)
    try:
        logs.configure(settings.log_level, settings.log_format, settings.log_file)
    except OSError as error:
        reason = error.strerror or str(error)
        raise BadSetting(f"LOG_FILE {settings.log_file} cannot be written ({reason}).") from None
    if obsolete := obsolete_variables(os.environ):
        log.warning("obsolete_settings", names=obsolete, meaning="they mean nothing here")
    if unknown := unknown_variables(os.environ):
        log.warning("unknown_settings", names=unknown, meaning="they have no effect")
    return settings


def run(work: Coroutine[Any, Any, T]) -> T:
    """On the fastest loop there is; several errors of ours at once are told by the first."""
    try:
        return _loop(work)
    except BaseExceptionGroup as group:
        ours, others = group.split(CurtsyError)
        if others is not None or ours is None:
            raise
        raise _first(ours) from None


def _loop(work: Coroutine[Any, Any, T]) -> T:
    if sys.platform == "win32":
        return asyncio.run(work)
    import uvloop

    return uvloop.run(work)


def _first(group: BaseExceptionGroup[CurtsyError]) -> CurtsyError:
    error = group.exceptions[0]
    return _first(error) if isinstance(error, BaseExceptionGroup) else error


def told(command: typer.Typer) -> None:
    """Run the command line; an error that someone must act on is a sentence and exit code 1."""
    try:
        command()
    except CurtsyError as error:
        print(f"curtsy: {error}", file=sys.stderr)
        sys.exit(1)
