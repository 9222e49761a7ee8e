"""Turns the JSON of an answer into a typed object."""

import types
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from datetime import datetime
from functools import cache
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from curtsy.errors import CurtsyError

A = TypeVar("A", bound="Answer")

LONGEST_SHOWN = 80
"""Characters of a field in the text of an answer."""


class AnswerNotUnderstood(CurtsyError):
    """An answer lacks a field that the client needs, or has another type there."""

    code = "answer_not_understood"

    def __init__(self, answer: str, field: str, problem: str) -> None:
        super().__init__(
            f"The server's answer does not fit this client: {answer}.{field} {problem}. Use the "
            "curtsy of the server's version (`client.version()`)."
        )


class Answer(dict[str, Any]):
    """An answer of the API: fields with types, and beside them the JSON as it came.

    `source.next_start_at` is a `datetime`; `source["next_start_at"]` is the text that the server
    sent. Fields that this client does not know, as of a newer server, are only in the JSON.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        shown = (f"{name}={_short(getattr(self, name))}" for name in _fields_of(type(self)))
        return f"{type(self).__name__}({', '.join(shown)})"


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}…"


@dataclass(frozen=True, slots=True)
class _Field:
    key: str
    """The name in JSON; a Python keyword has an underscore as attribute."""
    kind: Any
    default: Any


@cache
def _fields_of(answer: type[Answer]) -> Mapping[str, _Field]:
    hints = get_type_hints(answer)
    return {
        one.name: _Field(one.name.rstrip("_"), hints[one.name], one.default)
        for one in fields(answer)  # type: ignore[arg-type]
    }


def read(answer: type[A], body: object) -> A:
    """Returns the answer of this type; ignores fields that the type does not have.

    Raises `AnswerNotUnderstood`.
    """
    if not isinstance(body, dict):
        raise AnswerNotUnderstood(answer.__name__, "", f"is {_short(body)} and no object")
    values = {name: _value_of(answer, field, body) for name, field in _fields_of(answer).items()}
    found = answer(**values)
    found.update(body)
    return found


def _value_of(answer: type[Answer], field: _Field, body: Mapping[str, Any]) -> Any:
    if field.key not in body:
        if field.default is not MISSING:
            return field.default
        if type(None) in get_args(field.kind):
            return None
        raise AnswerNotUnderstood(answer.__name__, field.key, "is missing")
    try:
        return _value(field.kind, body[field.key])
    except (TypeError, ValueError):
        problem = f"is {_short(body[field.key])}"
        raise AnswerNotUnderstood(answer.__name__, field.key, problem) from None


def _value(kind: Any, value: Any) -> Any:
    """Raises `TypeError` or `ValueError` for a value of another kind."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (types.UnionType, Union):
        return _one_of(arguments, value)
    if kind is object or origin is Literal:  # a later server may have more words
        return value
    if origin is tuple:
        return tuple(_value(arguments[0], one) for one in _of_type(list, value))
    if origin is not None:
        return {key: _value(arguments[1], one) for key, one in _of_type(dict, value).items()}
    if kind is datetime:
        return datetime.fromisoformat(_of_type(str, value))
    if issubclass(kind, Answer):
        return read(kind, value)
    return _of_type((int, float) if kind is float else kind, value)


def _one_of(kinds: tuple[Any, ...], value: Any) -> Any:
    if value is None and type(None) in kinds:
        return None
    error: Exception = TypeError()
    for kind in kinds:
        if kind is not type(None):
            try:
                return _value(kind, value)
            except (TypeError, ValueError, AnswerNotUnderstood) as wrong:
                error = wrong
    raise error


def _of_type(kind: Any, value: Any) -> Any:
    if not isinstance(value, kind):
        raise TypeError
    return value
