"""Loads the settings. The errors of wrong values say which values are allowed."""

import difflib
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args, get_origin

from pydantic import ValidationError
from pydantic.fields import FieldInfo

from curtsy.config.settings import FILE, PREFIX, UNPREFIXED, Settings
from curtsy.errors import BadSetting

OF_THE_CLIENT = ("url", "key")
"""Variables of commands that call an API: its URL and key. Processes ignore them."""


def load(**flags: Any) -> Settings:
    """Loads the settings from flags, environment, `curtsy.toml` and defaults, in this order."""
    given = {name: value for name, value in flags.items() if value is not None}
    try:
        settings = Settings(**given)
    except ValidationError as error:
        problems = [_sentence(problem, given) for problem in error.errors()]
        raise BadSetting(" ".join(dict.fromkeys(problems))) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise BadSetting(f"{FILE} cannot be read: {error}.") from None
    if settings.retry_base > settings.retry_cap:
        raise BadSetting(
            f"CURTSY_RETRY_BASE is {settings.retry_base:g}: it must be at most "
            f"CURTSY_RETRY_CAP, which is {settings.retry_cap:g}."
        )
    return settings


def unknown_variables(environment: Mapping[str, str]) -> list[str]:
    """Returns variables with our prefix that name no setting: most likely misspelt."""
    known = {f"{PREFIX}{name.upper()}" for name in (*Settings.model_fields, *OF_THE_CLIENT)}
    return sorted(
        name for name in environment if name.startswith(PREFIX) and name.upper() not in known
    )


def origins() -> dict[str, str]:
    """Returns where the value of each setting came from: a variable, the file or the default."""
    in_file = tomllib.loads(Path(FILE).read_text()) if Path(FILE).exists() else {}
    found = {}
    for name in Settings.model_fields:
        variable = _variable(name)
        found[name] = variable or (FILE if name in in_file else "default")
    return found


def shown(name: str, value: object) -> str:
    """Formats a value without its secrets."""
    if name == "database_url":
        return _hide_password(value)
    return f"{value:.12g}" if isinstance(value, float) else str(value)


def _sentence(problem: Any, flags: Mapping[str, Any]) -> str:
    name = str(problem["loc"][0])
    if problem["type"] == "extra_forbidden":
        return f"{FILE} has no setting {name!r}{_meant(name)}."
    value = _hide_password(problem["input"]) if name == "database_url" else problem["input"]
    shown = str(value)[:200]
    return f"{_origin(name, flags)} is {shown!r}: {_allowed(name, problem)}."


def _meant(name: str) -> str:
    near = difflib.get_close_matches(name.lower(), Settings.model_fields, 1)
    return f" (did you mean {near[0]!r}?)" if near else ""


def _origin(name: str, flags: Mapping[str, Any]) -> str:
    """Returns where the value came from: a flag, a variable or the file."""
    if name in flags:
        return f"--{name.removeprefix('api_').removeprefix('worker_').replace('_', '-')}"
    return _variable(name) or f"{name} in {Path(FILE).absolute()}"


def _variable(name: str) -> str | None:
    """Returns the environment variable that sets it."""
    environment = {variable.upper(): variable for variable in os.environ}
    candidates = [f"{PREFIX}{name.upper()}", *([name.upper()] if name in UNPREFIXED else [])]
    for candidate in candidates:
        if os.environ.get(environment.get(candidate, "")):
            return environment[candidate]
    return None


def _allowed(name: str, problem: Any) -> str:
    if problem["type"] == "value_error":
        return str(problem["ctx"]["error"])
    field = Settings.model_fields[name]
    kind = field.annotation
    if get_origin(kind) is not None and all(isinstance(word, str) for word in get_args(kind)):
        return f"it must be one of {', '.join(get_args(kind))}"
    if kind in (int, float):
        return f"it must be a {'whole ' if kind is int else ''}number {_bounds(field)}"
    return str(problem["msg"])


def _bounds(field: FieldInfo) -> str:
    bounds = {
        word: getattr(limit, word)
        for limit in field.metadata
        for word in ("ge", "gt", "le")
        if hasattr(limit, word)
    }
    lowest = f"from {bounds['ge']}" if "ge" in bounds else f"above {bounds['gt']}"
    return f"{lowest} to {bounds['le']}" if "ge" in bounds else f"{lowest}, at most {bounds['le']}"


def _hide_password(url: object) -> str:
    before, at, after = str(url).rpartition("@")
    user, colon, _password = before.rpartition(":")
    return f"{user}:***@{after}" if at and colon and "//" in user else str(url)
