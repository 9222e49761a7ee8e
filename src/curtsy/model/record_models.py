"""Classes that describe records: dataclasses and pydantic models. Builds their instances from the
JSON values of results.

pydantic is never imported here: whoever defined a model has imported it.
"""

import json
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from datetime import date, datetime, time
from decimal import Decimal, InvalidOperation
from enum import Enum
from functools import lru_cache
from types import NoneType, UnionType
from typing import (
    Any,
    ClassVar,
    Literal,
    NoReturn,
    Protocol,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)
from uuid import UUID

from curtsy.errors import CurtsyError

T = TypeVar("T")


class DataclassInstance(Protocol):
    __dataclass_fields__: ClassVar[dict[str, Any]]


class PydanticInstance(Protocol):
    model_config: ClassVar[Any]

    def model_dump(self, *, mode: Any = ..., by_alias: bool | None = ...) -> dict[str, Any]: ...


class BadRecord(CurtsyError):
    """A record does not fit the class that it should become."""

    code = "bad_record"


def is_pydantic_model(model: object) -> bool:
    return isinstance(model, type) and issubclass(model, _pydantic_types("BaseModel"))


def is_model(model: object) -> bool:
    return isinstance(model, type) and (is_dataclass(model) or is_pydantic_model(model))


def is_instance_of_model(thing: object) -> bool:
    return not isinstance(thing, type) and (is_dataclass(thing) or is_pydantic_model(type(thing)))


def is_validation_error(error: BaseException) -> bool:
    return isinstance(error, _pydantic_types("ValidationError"))


def names_of(model: type) -> tuple[str, ...]:
    """The fields of a model in the order of their declaration; computed fields are the last."""
    if is_pydantic_model(model):
        known: Any = model
        return (*known.model_fields, *known.model_computed_fields)
    return tuple(field.name for field in fields(model))


def as_model(model: type[T], record: Mapping[str, Any]) -> T:
    """Returns the record of a result as an instance of its dataclass or pydantic model. Raises
    `BadRecord`, whose sentence names the field. What the class does not declare is left out."""
    if not isinstance(record, Mapping):
        raise BadRecord(f"A {model.__name__} is made of the fields of a record, not of a "
                        f"{type(record).__name__}: pass row['record'].")  # fmt: skip
    if is_pydantic_model(model):
        return _pydantic_instance(model, record, "")
    if is_dataclass(model):
        return _dataclass_instance(model, record, "")
    raise BadRecord(f"{model!r:.100} is no dataclass and no pydantic model.")


def sentence_of(error: Any) -> str:
    """What a pydantic ValidationError says: the model, and the first fields with their problems."""
    problems = error.errors(include_url=False, include_context=False, include_input=False)
    shown = "; ".join(
        f"{'.'.join(map(str, one['loc'])) or 'the whole'}: {one['msg']}"[:200]
        for one in problems[:_PROBLEMS_SHOWN]
    )
    hidden = len(problems) - _PROBLEMS_SHOWN
    more = f"; and {hidden} more" if hidden > 0 else ""
    return f"no valid {error.title}: {shown}{more}."


_PROBLEMS_SHOWN = 5


def _pydantic_types(name: str) -> tuple[type, ...]:
    found = getattr(sys.modules.get("pydantic"), name, None)
    return (found,) if isinstance(found, type) else ()


def _pydantic_instance(model: type[T], record: Mapping[str, Any], where: str) -> T:
    known: Any = model
    computed = known.model_computed_fields
    content = json.dumps({name: value for name, value in record.items() if name not in computed})
    try:
        # As JSON: a strict model refuses the text of a date in Python values.
        return known.model_validate_json(content, by_name=True, by_alias=True)  # type: ignore[no-any-return]
    except ValueError as error:
        if not is_validation_error(error):
            raise
        raise BadRecord(f"{where or 'The record'} is {sentence_of(error)}") from error


def _dataclass_instance(model: type[T], record: Mapping[str, Any], where: str) -> T:
    known: Any = model
    arguments, hints = {}, _hints(known)
    for field in fields(known):
        if not field.init:
            continue
        at = f"{where}.{field.name}" if where else field.name
        if field.name in record and not _stands_for_default(field, hints, record[field.name]):
            arguments[field.name] = _value(hints[field.name], record[field.name], at)
        elif not _has_default(field):
            raise BadRecord(f"{model.__name__} needs the field {at}, which the record lacks.")
    return model(**arguments)


def _has_default(field: "Field[Any]") -> bool:
    return field.default is not MISSING or field.default_factory is not MISSING


def _stands_for_default(field: "Field[Any]", hints: Mapping[str, Any], value: Any) -> bool:
    """Whether null stands where the class has a default and takes no None: a field that the
    scraper did not give is stored as null."""
    return value is None and _has_default(field) and not _takes_none(hints[field.name])


def _takes_none(hint: Any) -> bool:
    hint = _plain_hint(hint)
    return hint in (Any, object, None, NoneType) or (
        get_origin(hint) in (Union, UnionType) and any(map(_takes_none, get_args(hint)))
    )


@lru_cache(maxsize=256)
def _hints(model: type) -> dict[str, Any]:
    try:
        return get_type_hints(model)
    except (NameError, AttributeError, TypeError) as error:
        raise BadRecord(
            f"The types of {model.__name__} cannot be read ({error}): define the classes that it "
            "names at the top of its module."
        ) from None


def _plain_hint(hint: Any) -> Any:
    """The type behind a NewType, an alias, or a variable."""
    while (inner := getattr(hint, "__supertype__", getattr(hint, "__value__", None))) is not None:
        hint = inner
    return Any if isinstance(hint, TypeVar) else hint


def _value(hint: Any, value: Any, where: str) -> Any:
    """Returns the JSON value as a value of this type."""
    hint = _plain_hint(hint)
    origin = get_origin(hint) or hint
    if origin in (Any, object):
        return value
    if origin in (Union, UnionType):
        return _one_of(get_args(hint), value, where)
    if origin is Literal:
        return _literal(get_args(hint), value, where)
    if origin in (None, NoneType):
        return value if value is None else _refuse(value, "null", where)
    if not isinstance(origin, type):
        return _refuse_type(origin, where)
    if (convert := _SCALARS.get(origin)) is not None:
        return _converted(convert, value, origin, where)
    if issubclass(origin, Enum):
        return _member(origin, value, where)
    if is_model(origin):
        return _nested(origin, value, where)
    return _collection(origin, get_args(hint), value, where)


def _one_of(hints: Sequence[Any], value: Any, where: str) -> Any:
    """The first type of a union that the value fits. Which of several models is meant is decided
    by the names of the fields: trying each of them could take forever."""
    if value is None and any(map(_takes_none, hints)):
        return None
    models = [hint for hint in hints if is_dataclass(get_origin(hint) or hint)]
    if isinstance(value, Mapping) and len(models) > 1:
        models = [model for model in models if _fits(get_origin(model) or model, value)][:1]
        if models:
            return _value(models[0], value, where)
    for hint in hints:
        try:
            return _value(hint, value, where)
        except BadRecord as error:
            problem = error
    if len([hint for hint in hints if hint is not NoneType]) == 1:
        raise problem
    return _refuse(value, " or ".join(getattr(h, "__name__", str(h)) for h in hints), where)


def _fits(model: Any, value: Mapping[str, Any]) -> bool:
    names = {field.name for field in fields(model)}
    needed = {field.name for field in fields(model) if field.init and not _has_default(field)}
    return needed <= value.keys() <= names


def _literal(choices: Sequence[Any], value: Any, where: str) -> Any:
    for choice in choices:
        given = choice.value if isinstance(choice, Enum) else choice
        if type(given) is type(value) and given == value:
            return choice
    return _refuse(value, f"one of {', '.join(map(repr, choices))}", where)


def _member(enum: type[Enum], value: Any, where: str) -> Enum:
    for member in enum:
        if _as_json(member.value) == value and isinstance(value, bool) == isinstance(
            member.value, bool
        ):
            return member
    try:
        return enum(value)  # several flags together
    except (ValueError, TypeError, KeyError):
        return _refuse(value, f"a value of {enum.__name__}", where)


def _as_json(value: Any) -> Any:
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, Decimal | UUID):
        return str(value)
    return list(value) if isinstance(value, tuple) else value


def _nested(model: type, value: Any, where: str) -> Any:
    if not isinstance(value, Mapping):
        return _refuse(value, f"the fields of a {model.__name__}", where)
    build = _pydantic_instance if is_pydantic_model(model) else _dataclass_instance
    return build(model, value, where)


def _collection(origin: type, arguments: Sequence[Any], value: Any, where: str) -> Any:
    if issubclass(origin, Mapping):
        if not isinstance(value, Mapping):
            return _refuse(value, "an object", where)
        inner = arguments[1] if len(arguments) == 2 else Any
        return {name: _value(inner, one, f"{where}.{name}") for name, one in value.items()}
    if not (issubclass(origin, list | tuple) or origin in _LISTS):
        return _refuse_type(origin, where)
    if not isinstance(value, list | tuple):
        return _refuse(value, "a list", where)
    if issubclass(origin, tuple):
        return _tuple(arguments, value, where)
    inner = arguments[0] if arguments else Any
    return [_value(inner, one, f"{where}[{n}]") for n, one in enumerate(value)]


_LISTS = frozenset({Sequence, Iterable, Collection})


def _tuple(arguments: Sequence[Any], value: Sequence[Any], where: str) -> tuple[Any, ...]:
    if not arguments or arguments[-1] is Ellipsis:
        arguments = [arguments[0] if arguments else Any] * len(value)
    if len(arguments) != len(value):
        return _refuse(value, f"a list of {len(arguments)}", where)
    return tuple(
        _value(inner, one, f"{where}[{n}]")
        for n, (inner, one) in enumerate(zip(arguments, value, strict=True))
    )


def _exact(kind: type) -> Callable[[Any], Any]:
    def convert(value: Any) -> Any:
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise TypeError
        return value

    return convert


def _from_text(parse: Callable[[str], Any]) -> Callable[[Any], Any]:
    return lambda value: parse(_exact(str)(value))


def _float(value: Any) -> float:
    return float(_exact(int | float)(value))  # type: ignore[arg-type]


def _decimal(value: Any) -> Decimal:
    found = Decimal(str(_exact(str | int | float)(value)))  # type: ignore[arg-type]
    if not found.is_finite():
        raise ValueError
    return found


def _datetime(text: str) -> datetime:
    if len(text) == len("2026-11-19"):
        raise ValueError  # a date: in a union the type beside this one is meant
    return datetime.fromisoformat(text)


_SCALARS: Mapping[type, Callable[[Any], Any]] = {
    bool: _exact(bool), int: _exact(int), str: _exact(str), float: _float, Decimal: _decimal,
    datetime: _from_text(_datetime), date: _from_text(date.fromisoformat),
    time: _from_text(time.fromisoformat), UUID: _from_text(UUID),
}  # fmt: skip


def _converted(convert: Callable[[Any], Any], value: Any, wanted: type, where: str) -> Any:
    try:
        return convert(value)
    except (TypeError, ValueError, InvalidOperation):
        return _refuse(value, wanted.__name__, where)


def _refuse(value: Any, wanted: str, where: str) -> NoReturn:
    raise BadRecord(f"{where} is {_kind(value)}, not {wanted:.200}.")


def _refuse_type(wanted: Any, where: str) -> NoReturn:
    raise BadRecord(f"{where} is of type {wanted!r:.100}, which cannot be made of JSON.")


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, str):
        return f"the text {value[:50]!r}"
    return f"of type {type(value).__name__}"
