"""The file of sources: a table for each, in the words of a policy. Every mistake is a sentence."""

import difflib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from curtsy.config.conversions import policy
from curtsy.config.settings import Settings
from curtsy.config.toml_file import read_toml
from curtsy.errors import BadRequest, BadSetting
from curtsy.politeness.policy import Policy
from curtsy.sources.policy_fields import PolicyFields
from curtsy.sources.source import check_hosts, check_name, check_policy

Sections = Mapping[str, PolicyFields]


def read_sources(settings: Settings) -> Sections | None:
    """None: there is no file, and none was named."""
    path = Path(settings.sources_file)
    if "sources_file" not in settings.model_fields_set and not path.exists():
        return None
    return sections_of(path, policy(settings))


def sections_of(path: Path, defaults: Policy) -> Sections:
    """With those it must make sense."""
    found = read_toml(path, "sources", "SOURCES_FILE")
    sections: dict[str, PolicyFields] = {}
    problems: list[str] = []
    for name, said in found.items():
        try:
            sections[name] = _words(name, said, defaults)
        except BadRequest as refused:
            problems += refused.problems
    problems += _claimed_twice(sections)
    if problems:
        raise BadSetting(" ".join(f"In {path}, {problem}." for problem in problems))
    return sections


def _words(name: str, said: Any, defaults: Policy) -> PolicyFields:
    if not isinstance(said, dict):
        raise BadRequest([f"{name[:100]!r} stands before any source: begin with [name_of_one]"])
    try:
        words = PolicyFields.model_validate(said)
    except ValidationError as error:
        raise BadRequest(
            [f"[{name[:100]}] {_problem(name, found)}" for found in error.errors()]
        ) from None
    try:
        check_name(name, words.hosts)
        check_hosts(name, words.hosts)
        check_policy(defaults.with_overrides(words.overrides()))
    except BadRequest as refused:
        raise BadRequest(
            [f"[{name[:100]}]: {one.rstrip('.')}" for one in refused.problems]
        ) from None
    return words


def _problem(name: str, found: Any) -> str:
    """Without what stands there: it may be a password."""
    field = ".".join(str(part) for part in found["loc"])
    if found["type"] == "extra_forbidden":
        if isinstance(found["input"], dict) and len(found["loc"]) == 1:
            whole = ".".join((name, field, *_below(found["input"])))
            return f'has a part {field!r}: a name with dots needs quotes, as ["{whole}"]'
        known = difflib.get_close_matches(field, PolicyFields.model_fields, 1)
        return f"has no field {field!r}" + (f" (did you mean {known[0]!r}?)" if known else "")
    said = found["msg"].removeprefix("Value error, ").rstrip(".")
    return f"{field}: {said}" if field else f"makes no sense: {said}"


def _below(part: dict[str, Any]) -> Iterator[str]:
    """The rest of a name that was taken for tables within tables."""
    while len(part) == 1:
        [(word, within)] = part.items()
        if not isinstance(within, dict) or word in PolicyFields.model_fields:
            return
        yield word
        part = within


def _claimed_twice(sections: Sections) -> Iterator[str]:
    claimed: dict[str, str] = {}
    for name, words in sections.items():
        for host in dict.fromkeys(words.hosts if words.hosts is not None else [name]):
            if host in claimed:
                yield f"[{claimed[host]}] and [{name}] both have the host {host}"
            claimed.setdefault(host, name)
