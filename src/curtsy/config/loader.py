"""Loads the settings. The errors of wrong values say which values are allowed."""

import difflib
import os
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, get_args, get_origin

from pydantic import ValidationError
from pydantic.fields import FieldInfo

from curtsy import env_file
from curtsy.config.settings import FILE, PREFIX, Settings, variable_of
from curtsy.env_file import EnvFile, EnvFileUnreadable, read_env_file
from curtsy.errors import BadSetting
from curtsy.model.masks import masked_database_url
from curtsy.references import reference_in

SECRETS = ("database_url",)
"""Settings whose value may be a reference to a secret."""
OF_THE_CLIENT = ("url", "key")
"""Variables of commands that call an API: its URL and key. Processes ignore them."""


def as_flag(name: str) -> str:
    """How the command line spells the flag of a setting."""
    return f"--{name.removeprefix('api_').removeprefix('worker_').replace('_', '-')}"


def load(spell: Callable[[str], str] = as_flag, /, **flags: Any) -> Settings:
    """Loads the settings from flags, environment, `.env`, `curtsy.toml` and defaults, in this
    order. `spell` names a flag in errors."""
    given = {name: value for name, value in flags.items() if value is not None}
    try:
        settings = Settings(**given)
    except ValidationError as error:
        problems = [_sentence(problem, given, spell) for problem in error.errors()]
        raise BadSetting(" ".join(dict.fromkeys(problems))) from None
    except PermissionError as error:
        path = Path(error.filename or FILE).absolute()
        raise BadSetting(
            f"{path} cannot be read by UID {os.geteuid()}, as which this process runs: change the "
            f"permissions of the file, or the owner of the folder {path.parent}."
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise BadSetting(f"{FILE} cannot be read: {error}.") from None
    except EnvFileUnreadable as error:
        raise BadSetting(str(error)) from None
    _check_order(settings)
    return settings


def _check_order(settings: Settings) -> None:
    """Raises `BadSetting` for a pair of settings in the wrong order."""
    if settings.retry_base > settings.retry_cap:
        raise BadSetting(
            f"CURTSY_RETRY_BASE is {settings.retry_base:g}: it must be at most "
            f"CURTSY_RETRY_CAP, which is {settings.retry_cap:g}."
        )
    if settings.spider_soft_limit >= settings.spider_hard_limit:
        raise BadSetting(
            f"CURTSY_SPIDER_SOFT_LIMIT is {settings.spider_soft_limit:g}: it must be less than "
            f"CURTSY_SPIDER_HARD_LIMIT, which is {settings.spider_hard_limit:g}."
        )


def variables() -> dict[str, str]:
    """Returns the environment with what only `.env` sets."""
    return {**read_env_file().variables, **os.environ}


def remarks_on_env_file(file: EnvFile) -> list[str]:
    """Returns a sentence for each line of `.env` that was not understood, and each variable that
    only the environment can set: a file in some folder does not choose where a key is sent."""
    wrong = [
        f"Line {number} of {env_file.FILE} is not NAME=value: it has no effect."
        for number in file.wrong_lines
    ]
    of_the_client = {f"{PREFIX}{name.upper()}" for name in OF_THE_CLIENT}
    return wrong + [
        f"{name} in {env_file.FILE} has no effect: set it in the environment."
        for name in file.variables
        if name.upper() in of_the_client
    ]


def unknown_variables(environment: Mapping[str, str]) -> list[str]:
    """Returns variables with our prefix that name no setting: most likely misspelt."""
    known = {f"{PREFIX}{name.upper()}" for name in (*Settings.model_fields, *OF_THE_CLIENT)}
    return sorted(
        name for name in environment if name.startswith(PREFIX) and name.upper() not in known
    )


def origins() -> dict[str, str]:
    """Returns where the value of each setting came from: a variable, the file or the default."""
    in_toml = tomllib.loads(Path(FILE).read_text()) if Path(FILE).exists() else {}
    in_env_file = read_env_file().variables
    found = {}
    for name in Settings.model_fields:
        given = in_toml.get(name)
        found[name] = FILE if name in in_toml else "default"
        if variable := variable_of(name, os.environ):
            found[name], given = variable, os.environ[variable]
        elif variable := variable_of(name, in_env_file):
            found[name], given = f"{variable} in {env_file.FILE}", in_env_file[variable]
        if name in SECRETS and isinstance(given, str) and reference_in(given) is not None:
            found[name] += f", as {given}"
    return found


def shown(name: str, value: object) -> str:
    """Formats a value without its secrets."""
    if name == "database_url":
        return masked_database_url(str(value))
    return f"{value:.12g}" if isinstance(value, float) else str(value)


def _sentence(problem: Any, flags: Mapping[str, Any], spell: Callable[[str], str]) -> str:
    name = str(problem["loc"][0])
    if problem["type"] == "extra_forbidden":
        return f"{FILE} has no setting {name!r}{_meant(name)}."
    value = shown(name, problem["input"])[:200]
    origin = spell(name) if name in flags else _origin(name)
    return f"{origin} is {value!r}: {_allowed(name, problem)}."


def _meant(name: str) -> str:
    near = difflib.get_close_matches(name.lower(), Settings.model_fields, 1)
    return f" (did you mean {near[0]!r}?)" if near else ""


def _origin(name: str) -> str:
    """Returns where the value came from: a variable or a file."""
    if variable := variable_of(name, os.environ):
        return variable
    if variable := variable_of(name, read_env_file().variables):
        return f"{variable} in {Path(env_file.FILE).absolute()}"
    return f"{name} in {Path(FILE).absolute()}"


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
