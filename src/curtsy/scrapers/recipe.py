"""A recipe: CSS selectors for the records of a listing and for their fields. Parsing a recipe
reports all problems at once."""

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
_LONGEST_SHOWN = 60


class BadRecipe(BadRequest):
    """Lists every problem of a recipe."""

    code = "bad_recipe"


class BadPattern(ValueError):
    """A pattern that cannot be used; the text is a predicate that says why."""


@dataclass(frozen=True, slots=True)
class Field:
    css: str | None = None
    """None: the record's own element."""
    attribute: str | None = None
    pattern: str | None = None
    """A regular expression; the value is its first group, or the whole match without groups."""
    kind: Kind = "text"
    required: bool = False
    many: bool = False


@dataclass(frozen=True, slots=True)
class Recipe:
    record: str
    fields: Mapping[str, Field]
    key: tuple[str, ...]
    """The fields that identify a record."""
    list: str | None = None
    """Selects the container, which must exist even when it has no records."""
    empty: str | None = None
    """Selects an element that exists only when there are no results."""
    next: str | None = None


OPTIONS = tuple(field.name for field in fields(Recipe))
FIELD_OPTIONS = tuple(field.name for field in fields(Field))


def parse_recipe(spec: Mapping[str, Any]) -> Recipe:
    """Raises `BadRecipe` with all problems, except those of patterns: they are compiled only where
    a slow one does no harm (`extract/pattern_check.py`)."""
    if not isinstance(spec, Mapping):
        raise BadRecipe(["The recipe is not an object with options."])
    parser = _RecipeParser()
    parser.unknown(spec, OPTIONS, "The recipe")
    record = parser.selector(spec, "record", "record")
    if spec.get("record") is None:
        parser.problems.append("The recipe has no record: give a selector for the records.")
    optional = {name: parser.selector(spec, name, name) for name in ("list", "empty", "next")}
    found = _fields(spec.get("fields"), parser)
    key = _key(spec.get("key"), found, parser)
    if parser.problems or record is None:
        raise BadRecipe(parser.problems)
    return Recipe(record, found, key, **optional)


def recipe_to_json(recipe: Recipe) -> dict[str, Any]:
    """Returns the recipe as JSON values, without options that have their default."""
    spec: dict[str, Any] = {"record": recipe.record, "key": list(recipe.key)}
    spec |= {name: getattr(recipe, name) for name in ("list", "empty", "next")
             if getattr(recipe, name) is not None}  # fmt: skip
    usual = Field()
    spec["fields"] = {
        name: {option: getattr(field, option) for option in FIELD_OPTIONS
               if getattr(field, option) != getattr(usual, option)}
        for name, field in recipe.fields.items()
    }  # fmt: skip
    return spec


def patterns_of(params: Mapping[str, Any]) -> dict[str, str]:
    """Returns the patterns in the recipe of a scraper's parameters, by their place. They are not
    checked."""
    recipe = params.get("recipe")
    fields = recipe.get("fields") if isinstance(recipe, Mapping) else None
    return {
        f"fields.{name}.pattern": pattern
        for name, field in (fields.items() if isinstance(fields, Mapping) else ())
        if isinstance(field, Mapping) and isinstance(pattern := field.get("pattern"), str)
    }


def compile_pattern(pattern: str) -> re.Pattern[str]:
    """Raises `BadPattern`. May take long: only for confined processes."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # FutureWarning: syntax that may change its meaning
            return re.compile(pattern)
    except (re.error, OverflowError, RecursionError, MemoryError) as error:
        reason = str(error) or "it nests too deep"
        raise BadPattern(f"is not a regular expression: {reason}") from None


def _fields(spec: Any, parser: "_RecipeParser") -> dict[str, Field]:
    if not isinstance(spec, Mapping) or not spec:
        parser.problems.append("The recipe has no fields: it needs at least one.")
        return {}
    if len(spec) > MOST_FIELDS:
        parser.problems.append(f"There are {len(spec)} fields; at most {MOST_FIELDS} are allowed.")
        return {}
    found = {}
    for name, field in spec.items():
        if not isinstance(name, str) or not NAME.fullmatch(name):
            parser.problems.append(
                f"{_short(name)} cannot be a field's name: up to 60 letters, digits, _ and -, "
                "with a letter first."
            )
            continue
        found[name] = parser.field(name, {"css": field} if isinstance(field, str) else field)
    return found


def _key(spec: Any, found: Mapping[str, Field], parser: "_RecipeParser") -> tuple[str, ...]:
    if spec is None:
        return ("url",) if "url" in found else tuple(sorted(found))
    if not isinstance(spec, list | tuple) or not all(isinstance(name, str) for name in spec):
        parser.problems.append("key is not a list of field names.")
        return ()
    if not spec or len(set(spec)) != len(spec):
        parser.problems.append("key names no field, or one twice.")
    for name in spec:
        if found and name not in found:
            parser.problems.append(f"key names {_short(name)}, which is not a field.")
    return tuple(spec)


class _RecipeParser:
    """Parses the parts of a recipe and collects all problems."""

    def __init__(self) -> None:
        self.problems: list[str] = []

    def unknown(self, spec: Mapping[str, Any], known: Iterable[str], whose: str) -> None:
        for name in spec:
            if name not in known:
                near = difflib.get_close_matches(str(name), list(known), 1)
                meant = f" (did you mean {near[0]!r}?)" if near else ""
                self.problems.append(f"{whose} has no option {_short(name)}{meant}.")

    def selector(self, spec: Mapping[str, Any], option: str, whose: str) -> str | None:
        text = self.text(spec, option, whose)
        if text is not None and (problem := problem_of(text)) is not None:
            self.problems.append(f"{whose} {problem}.")
        return text.strip() if text is not None else None

    def text(self, spec: Mapping[str, Any], option: str, whose: str) -> str | None:
        value = spec.get(option)
        if value is not None and not isinstance(value, str):
            self.problems.append(f"{whose} is not text: {_short(value)}.")
            return None
        return value

    def field(self, name: str, spec: Any) -> Field:
        whose = f"fields.{name}"
        if not isinstance(spec, Mapping):
            self.problems.append(f"{whose} is neither a selector nor an object with options.")
            return Field()
        self.unknown(spec, FIELD_OPTIONS, whose)
        parsed = Field(
            css=self.selector(spec, "css", f"{whose}.css"),
            attribute=self._attribute(spec, whose),
            pattern=self._pattern(spec, whose),
            kind=self._kind(spec, whose),
            required=self._boolean(spec, "required", whose),
            many=self._boolean(spec, "many", whose),
        )
        if parsed.kind == "flag" and (parsed.required or parsed.many):
            self.problems.append(f"{whose} is a flag, which can be neither required nor many.")
        return parsed

    def _attribute(self, spec: Mapping[str, Any], whose: str) -> str | None:
        name = self.text(spec, "attribute", f"{whose}.attribute")
        if name is not None and not _ATTRIBUTE.fullmatch(name):
            self.problems.append(f"{whose}.attribute is not a valid name: {_short(name)}.")
        return name.lower() if name is not None else None

    def _pattern(self, spec: Mapping[str, Any], whose: str) -> str | None:
        pattern = self.text(spec, "pattern", f"{whose}.pattern")
        if pattern is not None and not 1 <= len(pattern) <= LONGEST_PATTERN:
            self.problems.append(f"{whose}.pattern has {len(pattern)} characters; it must be "
                                 f"from 1 to {LONGEST_PATTERN}.")  # fmt: skip
        return pattern

    def _kind(self, spec: Mapping[str, Any], whose: str) -> Kind:
        kind = spec.get("kind", "text")
        if not isinstance(kind, str) or kind not in KINDS:
            known = ", ".join(KINDS)
            self.problems.append(f"{whose}.kind is {_short(kind)}: it must be one of {known}.")
            return "text"
        return cast("Kind", kind)

    def _boolean(self, spec: Mapping[str, Any], option: str, whose: str) -> bool:
        value = spec.get(option, False)
        if not isinstance(value, bool):
            self.problems.append(f"{whose}.{option} is neither true nor false: {_short(value)}.")
        return value is True


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[: _LONGEST_SHOWN - 1]}…"
