"""Converts a scraper's result to JSON values: dates, decimals and UUIDs become text, enums their
value, models objects of their fields in declared order. Other types are refused."""

from collections.abc import Mapping
from dataclasses import is_dataclass
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from math import isfinite
from typing import Any
from uuid import UUID

from curtsy.model.record_models import is_instance_of_model, names_of
from curtsy.scrapers.page import Broken

DEEPEST = 50
LARGEST_INTEGER = 2**63


def plain(value: Any, where: str = "", depth: int = 0) -> Any:
    """Returns the value as JSON types. Raises `Broken`, which names the field."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, Enum):  # before text and numbers: enums may be those too
        return plain(value.value, where, depth)
    if isinstance(value, str):
        return _text(value, where)
    if isinstance(value, int | float):
        return _number(value, where)
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, Decimal | UUID):
        return _as_text(value, where)
    if depth == DEEPEST:
        raise Broken(f"{where[:100]} is nested more than {DEEPEST} deep.")
    if isinstance(value, Mapping):
        return {
            _name(name, where): plain(inner, f"{where}.{name}" if where else name, depth + 1)
            for name, inner in value.items()
        }
    if isinstance(value, list | tuple):
        return [plain(inner, f"{where}[{n}]", depth + 1) for n, inner in enumerate(value)]
    if is_instance_of_model(value):
        return plain(fields_of(value, where), where, depth)
    what = type(value).__name__
    raise Broken(f"{where or 'The record'} is of type {what}, which JSON cannot represent.")


def fields_of(instance: Any, where: str = "") -> Mapping[str, Any]:
    """The fields of a dataclass or pydantic model, in the order of their declaration."""
    if is_dataclass(instance):
        return {name: getattr(instance, name, None) for name in names_of(type(instance))}
    try:
        found = instance.model_dump(mode="json", by_alias=False, warnings=False)
    except Exception as error:
        what = f"{where or 'The record'} ({type(instance).__name__})"
        raise Broken(f"{what} cannot become JSON: {error}.") from error
    if not isinstance(found, Mapping):
        raise Broken(f"{where or 'The record'} is a {type(instance).__name__}, which has no names "
                     "for its fields.")  # fmt: skip
    return found


def _as_text(value: Decimal | UUID, where: str) -> str:
    if isinstance(value, Decimal) and not value.is_finite():
        raise Broken(f"{where} is {value}, which JSON cannot represent.")
    return str(value)


def _text(value: str, where: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise Broken(f"{where or 'The record'} is text with half of a character.") from None
    return str(value)


def _number(value: float, where: str) -> float:
    if isinstance(value, int):
        if abs(value) < LARGEST_INTEGER:
            return int(value)
        raise Broken(f"{where} is a number of more than 64 bits: store it as text.")
    if not isfinite(value):
        raise Broken(f"{where} is {value}, which JSON cannot represent.")
    return float(value)


def _name(name: object, where: str) -> str:
    if isinstance(name, str):
        return _text(name, f"A name in {where or 'the record'}")
    raise Broken(f"{where or 'The record'} has the name {name!r:.50}, which is not text.")
