"""Reads the sources file: a table of policy fields per source. Reports all problems at once."""

import difflib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from curtsy.config.conversions import policy
from curtsy.config.settings import Settings
from curtsy.config.toml_file import read_toml
from curtsy.errors import BadRequest, BadSetting
from curtsy.fetch.proxy import AllowedProxies, parse_allowed_proxies
from curtsy.politeness.policy import Policy
from curtsy.sources.policy_fields import OWN_FILE, PolicyFields
from curtsy.sources.source import check_hosts, check_name, check_policy, check_proxies

Sections = Mapping[str, PolicyFields]


def read_sources(settings: Settings) -> Sections | None:
    """Returns None if the file does not exist and no setting names it."""
    path = Path(settings.sources_file)
    if "sources_file" not in settings.model_fields_set and not path.exists():
        return None
    sections = sections_of(path, policy(settings))
    _check_proxies(path, sections, parse_allowed_proxies(settings.allow_proxies))
    return sections


def _check_proxies(
    path: Path, sections: Sections, allow_proxies: tuple[AllowedProxies, ...]
) -> None:
    problems = []
    for name, fields in sections.items():
        try:
            check_proxies(fields, allow_proxies)
        except BadRequest as refused:
            problems += [f"In {path}, [{name}]: {problem}" for problem in refused.problems]
    if problems:
        raise BadSetting(" ".join(problems))


def sections_of(path: Path, defaults: Policy) -> Sections:
    """Parses the file; each section must be valid together with the defaults."""
    found = read_toml(path, "sources", "SOURCES_FILE")
    sections: dict[str, PolicyFields] = {}
    problems: list[str] = []
    for name, section in found.items():
        try:
            sections[name] = _parse(name, section, defaults)
        except BadRequest as refused:
            problems += refused.problems
    problems += _claimed_twice(sections)
    if problems:
        raise BadSetting(" ".join(f"In {path}, {problem}." for problem in problems))
    return sections


def _parse(name: str, section: Any, defaults: Policy) -> PolicyFields:
    if not isinstance(section, dict):
        raise BadRequest([f"{name[:100]!r} is outside of any table: start with a [name]"])
    try:
        fields = PolicyFields.model_validate(section, context=OWN_FILE)
    except ValidationError as error:
        raise BadRequest(
            [f"[{name[:100]}] {_problem(name, found)}" for found in error.errors()]
        ) from None
    try:
        check_name(name, fields.hosts)
        check_hosts(name, fields.hosts)
        check_policy(defaults.with_overrides(fields.overrides()))
    except BadRequest as refused:
        raise BadRequest(
            [f"[{name[:100]}]: {one.rstrip('.')}" for one in refused.problems]
        ) from None
    return fields


def _problem(name: str, found: Any) -> str:
    """Describes a problem without the value: it may be a password."""
    field = ".".join(str(part) for part in found["loc"])
    if found["type"] == "extra_forbidden":
        if isinstance(found["input"], dict) and len(found["loc"]) == 1:
            whole = ".".join((name, field, *_below(found["input"])))
            return f'has a part {field!r}: a name with dots needs quotes, as ["{whole}"]'
        known = difflib.get_close_matches(field, PolicyFields.model_fields, 1)
        return f"has no field {field!r}" + (f" (did you mean {known[0]!r}?)" if known else "")
    message = found["msg"].removeprefix("Value error, ").rstrip(".")
    return f"{field}: {message}" if field else f"is not valid: {message}"


def _below(part: dict[str, Any]) -> Iterator[str]:
    """Returns the rest of a dotted name that TOML parsed as nested tables."""
    while len(part) == 1:
        [(word, within)] = part.items()
        if not isinstance(within, dict) or word in PolicyFields.model_fields:
            return
        yield word
        part = within


def _claimed_twice(sections: Sections) -> Iterator[str]:
    claimed: dict[str, str] = {}
    for name, fields in sections.items():
        for host in dict.fromkeys(fields.hosts if fields.hosts is not None else [name]):
            if host in claimed:
                yield f"[{claimed[host]}] and [{name}] both have the host {host}"
            claimed.setdefault(host, name)
