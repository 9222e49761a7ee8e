"""Loads the settings, configures the log, and runs a command's coroutine."""

import asyncio
import sys
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from curtsy.cli.console.progress import spinner
from curtsy.errors import BadSetting, CurtsyError

if TYPE_CHECKING:
    from curtsy.config import Settings

T = TypeVar("T")


def settings_for(**flags: Any) -> "Settings":
    """Loads the settings and configures the log as they say.

    Imports are local here and in the commands, because importing the settings and the engine takes
    a second, which help, completion and --url do not need.
    """
    from curtsy import logs
    from curtsy.config import load
    from curtsy.config.loader import remarks_on_env_file, unknown_variables, variables
    from curtsy.config.obsolete_variables import obsolete_variables
    from curtsy.env_file import read_env_file
    from curtsy.model.masks import without_credentials

    settings = load(**flags)
    log = logs.logger("cli")
    try:
        logs.configure(
            settings.log_level, settings.log_format, settings.log_file,
            clean=lambda line: without_credentials(line, settings.database_url),
        )  # fmt: skip
    except OSError as error:
        reason = error.strerror or str(error)
        raise BadSetting(f"LOG_FILE {settings.log_file} cannot be written ({reason}).") from None
    for sentence in remarks_on_env_file(read_env_file()):
        log.warning("env_file_ignored", meaning=sentence)
    if obsolete := obsolete_variables(variables()):
        log.warning("obsolete_settings", names=obsolete, meaning="they mean nothing here")
    if unknown := unknown_variables(variables()):
        log.warning("unknown_settings", names=unknown, meaning="they have no effect")
    return settings


def run(work: Coroutine[Any, Any, T], *, doing: str | None = None) -> T:
    """Runs a coroutine to its end, on uvloop where there is one.

    Raises the first error of a group that has only `CurtsyError`s. Shows `doing` if the work takes
    long.
    """
    try:
        with spinner(doing):
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
