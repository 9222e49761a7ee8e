"""Reads the files of sites and of schedules, and reports all their problems at once."""

import difflib
from collections.abc import Mapping
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from curtsy.config.settings import Settings
from curtsy.config.toml_file import read_toml
from curtsy.errors import BadRequest, BadSetting
from curtsy.extract.pattern_check import problems_of, raise_problems
from curtsy.requests.schedules import ScheduleRequest, rule_of
from curtsy.scrapers.recipe import BadRecipe, patterns_of
from curtsy.sites.site import NAME
from curtsy.sites.spec import SiteSpec

M = TypeVar("M", bound=BaseModel)


def read_sites(settings: Settings) -> Mapping[str, SiteSpec] | None:
    """Returns None if the file does not exist and no setting names it."""
    found = _sections(settings, "sites_file", "sites", SiteSpec)
    for name in found or ():
        if not NAME.fullmatch(name):
            raise BadSetting(f"In {settings.sites_file}, {name[:100]!r} is not a valid site name: "
                             "use a-z, 0-9, '.', '_', '-'.")  # fmt: skip
    of_sites = {name: {"recipe": spec.recipe} for name, spec in (found or {}).items()}
    _check_patterns(settings.sites_file, of_sites)
    return found


def read_schedules(settings: Settings) -> Mapping[str, ScheduleRequest] | None:
    found = _sections(settings, "schedules_file", "schedules", ScheduleRequest)
    for name, section in (found or {}).items():
        try:
            rule_of(section)
        except BadRequest as wrong:
            raise BadSetting(f"In {settings.schedules_file}, [{name}]: {wrong}") from None
    params = {name: section.payload.scraper_params() for name, section in (found or {}).items()}
    _check_patterns(settings.schedules_file, params)
    return found


def _check_patterns(file: str, params: Mapping[str, Mapping[str, Any]]) -> None:
    """Compiles the patterns of all sections in one process; blocks."""
    patterns = {name: found for name, one in params.items() if (found := patterns_of(one))}
    if not patterns:
        return
    problems = problems_of(chain.from_iterable(found.values() for found in patterns.values()))
    for name, found in patterns.items():
        try:
            raise_problems(found, problems)
        except BadRecipe as bad:
            raise BadSetting(f"In {file}, [{name}]: {bad}") from None


def _sections(settings: Settings, setting: str, what: str, model: type[M]) -> dict[str, M] | None:
    path = Path(getattr(settings, setting))
    if setting not in settings.model_fields_set and not path.exists():
        return None
    sections: dict[str, M] = {}
    problems: list[str] = []
    for name, section in read_toml(path, what, setting.upper()).items():
        if not isinstance(section, dict):
            problems.append(f"{name[:100]!r} is outside of any table: start with a [name]")
            continue
        try:
            sections[name] = model.model_validate(_as_json(section))
        except ValidationError as wrong:
            problems += [f"[{name[:100]}] {_problem(error, model)}" for error in wrong.errors()]
    if problems:
        raise BadSetting(" ".join(f"In {path}, {problem}." for problem in problems))
    return sections


def _as_json(value: Any) -> Any:
    """Replaces the dates of TOML by text, as JSON has them."""
    if isinstance(value, dict):
        return {name: _as_json(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_as_json(one) for one in value]
    return value.isoformat() if isinstance(value, datetime) else value


def _problem(found: Any, model: type[BaseModel]) -> str:
    field = ".".join(str(part) for part in found["loc"])
    if found["type"] == "extra_forbidden":
        known = difflib.get_close_matches(field, model.model_fields, 1)
        return f"has no field {field!r}" + (f" (did you mean {known[0]!r}?)" if known else "")
    message = found["msg"].removeprefix("Value error, ").rstrip(".")
    return f"{field}: {message}" if field else f"is not valid: {message}"
