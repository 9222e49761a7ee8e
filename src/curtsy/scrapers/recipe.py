"""A recipe: where on a listing its records are, and what of them is wanted. Checked as a whole."""

import difflib
import re
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, cast, get_args

from curtsy.errors import BadRequest
from curtsy.scrapers.selectors import problem_of

Kind = Literal["text", "number", "url", "flag"]
KINDS: tuple[str, ...] = get_args(Kind)
MOST_FIELDS = 100
LONGEST_PATTERN = 500
LONGEST_ATTRIBUTE = 100
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,59}")
_ATTRIBUTE = re.compile(r"[^\s\"'<>/=\x00-\x1f\x7f\ud800-\udfff]{1,100}")
_SHOWN = 60


class BadRecipe(BadRequest):
    """Says every problem at once."""

    code = "bad_recipe"


@dataclass(frozen=True, slots=True)
class Field:
    css: str | None = None
    """None: the record's own element."""
    attribute: str | None = None
    pattern: str | None = None
    """A regular expression; its first group, or all that it matches."""
    kind: Kind = "text"
    required: bool = False
    many: bool = False


@dataclass(frozen=True, slots=True)
class Recipe:
    record: str
    fields: Mapping[str, Field]
    key: tuple[str, ...]
    """The fields by which a record is known again."""
    list: str | None = None
    """What must be there, with records in it or without."""
    empty: str | None = None
    """Is there when nothing was found."""
    next: str | None = None


OPTIONS = tuple(field.name for field in fields(Recipe))
FIELD_OPTIONS = tuple(field.name for field in fields(Field))


def recipe_from(said: Mapping[str, Any]) -> Recipe:
    """Raises `BadRecipe` with all that is wrong."""
    if not isinstance(said, Mapping):
        raise BadRecipe(["The recipe is not an object with options."])
    reading = _Reading()
    reading.unknown(said, OPTIONS, "The recipe")
    record = reading.selector(said, "record", "record")
    if said.get("record") is None:
        reading.problems.append("The recipe has no record: say which elements are records.")
    optional = {name: reading.selector(said, name, name) for name in ("list", "empty", "next")}
    found = _fields(said.get("fields"), reading)
    key = _key(said.get("key"), found, reading)
    if reading.problems or record is None:
        raise BadRecipe(reading.problems)
    return Recipe(record, found, key, **optional)


def recipe_to(recipe: Recipe) -> dict[str, Any]:
    """As JSON has it; what has its default is left out."""
    said: dict[str, Any] = {"record": recipe.record, "key": list(recipe.key)}
    said |= {name: getattr(recipe, name) for name in ("list", "empty", "next")
             if getattr(recipe, name) is not None}  # fmt: skip
    usual = Field()
    said["fields"] = {
        name: {option: getattr(field, option) for option in FIELD_OPTIONS
               if getattr(field, option) != getattr(usual, option)}
        for name, field in recipe.fields.items()
    }  # fmt: skip
    return said


def _fields(said: Any, reading: "_Reading") -> dict[str, Field]:
    if not isinstance(said, Mapping) or not said:
        reading.problems.append("The recipe has no fields: name one at least.")
        return {}
    if len(said) > MOST_FIELDS:
        reading.problems.append(f"There are {len(said)} fields; at most {MOST_FIELDS} may be.")
        return {}
    found = {}
    for name, field in said.items():
        if not isinstance(name, str) or not NAME.fullmatch(name):
            reading.problems.append(
                f"{_shown(name)} cannot be a field's name: up to 60 letters, digits, _ and -, "
                "with a letter first."
            )
            continue
        found[name] = reading.field(name, {"css": field} if isinstance(field, str) else field)
    return found


def _key(said: Any, found: Mapping[str, Field], reading: "_Reading") -> tuple[str, ...]:
    if said is None:
        return ("url",) if "url" in found else tuple(sorted(found))
    if not isinstance(said, list | tuple) or not all(isinstance(name, str) for name in said):
        reading.problems.append("key is not a list of names of fields.")
        return ()
    if not said or len(set(said)) != len(said):
        reading.problems.append("key names no field, or one twice.")
    for name in said:
        if found and name not in found:
            reading.problems.append(f"key names {_shown(name)}, which is no field.")
    return tuple(said)


class _Reading:
    """Collects what is wrong, so that all of it can be told."""

    def __init__(self) -> None:
        self.problems: list[str] = []

    def unknown(self, said: Mapping[str, Any], known: Iterable[str], whose: str) -> None:
        for name in said:
            if name not in known:
                near = difflib.get_close_matches(str(name), list(known), 1)
                meant = f" (did you mean {near[0]!r}?)" if near else ""
                self.problems.append(f"{whose} has no option {_shown(name)}{meant}.")

    def selector(self, said: Mapping[str, Any], option: str, whose: str) -> str | None:
        text = self.text(said, option, whose)
        if text is not None and (problem := problem_of(text)) is not None:
            self.problems.append(f"{whose} {problem}.")
        return text.strip() if text is not None else None

    def text(self, said: Mapping[str, Any], option: str, whose: str) -> str | None:
        value = said.get(option)
        if value is not None and not isinstance(value, str):
            self.problems.append(f"{whose} is not text: {_shown(value)}.")
            return None
        return value

    def field(self, name: str, said: Any) -> Field:
        whose = f"fields.{name}"
        if not isinstance(said, Mapping):
            self.problems.append(f"{whose} is neither a selector nor an object with options.")
            return Field()
        self.unknown(said, FIELD_OPTIONS, whose)
        made = Field(
            css=self.selector(said, "css", f"{whose}.css"),
            attribute=self._attribute(said, whose),
            pattern=self._pattern(said, whose),
            kind=self._kind(said, whose),
            required=self._yes(said, "required", whose),
            many=self._yes(said, "many", whose),
        )
        if made.kind == "flag" and (made.required or made.many):
            self.problems.append(f"{whose} is a flag, which is always there, and once.")
        return made

    def _attribute(self, said: Mapping[str, Any], whose: str) -> str | None:
        name = self.text(said, "attribute", f"{whose}.attribute")
        if name is not None and not _ATTRIBUTE.fullmatch(name):
            self.problems.append(f"{whose}.attribute is not the name of one: {_shown(name)}.")
        return name.lower() if name is not None else None

    def _pattern(self, said: Mapping[str, Any], whose: str) -> str | None:
        pattern = self.text(said, "pattern", f"{whose}.pattern")
        if pattern is not None and (problem := _problem_of_pattern(pattern)) is not None:
            self.problems.append(f"{whose}.pattern {problem}.")
        return pattern

    def _kind(self, said: Mapping[str, Any], whose: str) -> Kind:
        kind = said.get("kind", "text")
        if not isinstance(kind, str) or kind not in KINDS:
            known = ", ".join(KINDS)
            self.problems.append(f"{whose}.kind is {_shown(kind)}: it must be one of {known}.")
            return "text"
        return cast("Kind", kind)

    def _yes(self, said: Mapping[str, Any], option: str, whose: str) -> bool:
        value = said.get(option, False)
        if not isinstance(value, bool):
            self.problems.append(f"{whose}.{option} is neither true nor false: {_shown(value)}.")
        return value is True


def _problem_of_pattern(pattern: str) -> str | None:
    if not pattern or len(pattern) > LONGEST_PATTERN:
        return f"has {len(pattern)} characters; it must be from 1 to {LONGEST_PATTERN}"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what may mean something else one day
            re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        return f"is not a regular expression: {error or 'it nests too deep'}"
    return None


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
