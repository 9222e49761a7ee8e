"""Reads the alerts file: tables `[rules.NAME]` and `[channels.NAME]`. Reports all problems at
once."""

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from curtsy.alerts.channel import ChannelFields
from curtsy.alerts.rule_fields import NAME, RuleFields, rule_of
from curtsy.config.settings import Settings
from curtsy.config.toml_file import read_toml
from curtsy.errors import BadRequest, BadSetting

M = TypeVar("M", bound=BaseModel)
PARTS = ("rules", "channels")


@dataclass(frozen=True, slots=True)
class AlertSections:
    rules: Mapping[str, RuleFields]
    channels: Mapping[str, ChannelFields]


def read_alerts(settings: Settings) -> AlertSections | None:
    """Returns None if the file does not exist and no setting names it."""
    path = Path(settings.alerts_file)
    if "alerts_file" not in settings.model_fields_set and not path.exists():
        return None
    found = read_toml(path, "alerts", "ALERTS_FILE")
    problems = [f"{name[:100]!r} is neither [rules.NAME] nor [channels.NAME]"
                for name in found if name not in PARTS]  # fmt: skip
    rules = _parsed(found, "rules", RuleFields, problems)
    channels = _parsed(found, "channels", ChannelFields, problems)
    problems += _wrong_rules(rules, channels)
    problems += [f"[channels.{name[:100]}] is not a valid name: use a-z, 0-9, '.', '_', '-'"
                 for name in channels if not NAME.fullmatch(name)]  # fmt: skip
    if problems:
        raise BadSetting(" ".join(f"In {path}, {problem.rstrip('.')}." for problem in problems))
    return AlertSections(rules, channels)


def _wrong_rules(
    rules: Mapping[str, RuleFields], channels: Mapping[str, ChannelFields]
) -> Iterator[str]:
    for name, fields in rules.items():
        try:
            rule_of(name, fields)
        except BadRequest as wrong:
            yield from (f"[rules.{name[:100]}]: {problem}" for problem in wrong.problems)
        for channel in fields.channels or ():
            if channel not in channels:
                yield f"[rules.{name[:100]}]: there is no [channels.{channel[:100]}]"


def _parsed(
    found: Mapping[str, Any], part: str, model: type[M], problems: list[str]
) -> dict[str, M]:
    sections = found.get(part, {})
    if not isinstance(sections, dict):
        problems.append(f"{part} is no table: start with [{part}.NAME]")
        return {}
    parsed: dict[str, M] = {}
    for name, section in sections.items():
        where = f"[{part}.{name[:100]}]"
        if not isinstance(section, dict):
            problems.append(f"{where} is no table")
            continue
        try:
            parsed[name] = model.model_validate(section)
        except ValidationError as wrong:
            problems += [f"{where} {_problem(one, model)}" for one in wrong.errors()]
    return parsed


def _problem(found: Any, model: type[BaseModel]) -> str:
    """Describes a problem without the value: it may be a secret."""
    field = ".".join(str(part) for part in found["loc"])
    if found["type"] == "extra_forbidden":
        names = [field.alias or name for name, field in model.model_fields.items()]
        known = difflib.get_close_matches(field, names, 1)
        return f"has no field {field!r}" + (f" (did you mean {known[0]!r}?)" if known else "")
    message = found["msg"].removeprefix("Value error, ").rstrip(".")
    return f"{field}: {message}" if field else f"is not valid: {message}"
