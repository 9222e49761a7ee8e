"""The files of sites and of schedules. Every mistake is a sentence, and all are told at once."""

import difflib
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from curtsy.config.settings import Settings
from curtsy.config.toml_file import read_toml
from curtsy.errors import BadRequest, BadSetting
from curtsy.requests.schedules import ScheduleRequest, rule_of
from curtsy.sites.site import NAME
from curtsy.sites.spec import SiteSpec

M = TypeVar("M", bound=BaseModel)


def read_sites(settings: Settings) -> Mapping[str, SiteSpec] | None:
    """None: there is no file, and none was named."""
    found = _sections(settings, "sites_file", "sites", SiteSpec)
    for name in found or ():
        if not NAME.fullmatch(name):
            raise BadSetting(f"In {settings.sites_file}, {name[:100]!r} is no name for a site: "
                             "use a-z, 0-9, '.', '_', '-'.")  # fmt: skip
    return found


def read_schedules(settings: Settings) -> Mapping[str, ScheduleRequest] | None:
    found = _sections(settings, "schedules_file", "schedules", ScheduleRequest)
    for name, said in (found or {}).items():
        try:
            rule_of(said)
        except BadRequest as wrong:
            raise BadSetting(f"In {settings.schedules_file}, [{name}]: {wrong}") from None
    return found


def _sections(settings: Settings, setting: str, what: str, model: type[M]) -> dict[str, M] | None:
    path = Path(getattr(settings, setting))
    if setting not in settings.model_fields_set and not path.exists():
        return None
    sections: dict[str, M] = {}
    problems: list[str] = []
    for name, said in read_toml(path, what, setting.upper()).items():
        if not isinstance(said, dict):
            problems.append(f"{name[:100]!r} stands before any table: begin with [name_of_one]")
            continue
        try:
            sections[name] = model.model_validate(_as_json(said))
        except ValidationError as wrong:
            problems += [f"[{name[:100]}] {_problem(error, model)}" for error in wrong.errors()]
    if problems:
        raise BadSetting(" ".join(f"In {path}, {problem}." for problem in problems))
    return sections


def _as_json(said: Any) -> Any:
    """Moments as JSON would have them."""
    if isinstance(said, dict):
        return {name: _as_json(value) for name, value in said.items()}
    if isinstance(said, list):
        return [_as_json(value) for value in said]
    return said.isoformat() if isinstance(said, datetime) else said


def _problem(found: Any, model: type[BaseModel]) -> str:
    field = ".".join(str(part) for part in found["loc"])
    if found["type"] == "extra_forbidden":
        known = difflib.get_close_matches(field, model.model_fields, 1)
        return f"has no field {field!r}" + (f" (did you mean {known[0]!r}?)" if known else "")
    said = found["msg"].removeprefix("Value error, ").rstrip(".")
    return f"{field}: {said}" if field else f"makes no sense: {said}"
