"""Converts a scraper's result to JSON values. Dates become text; other types are refused."""

from collections.abc import Mapping
from datetime import date, datetime, time
from math import isfinite
from typing import Any

from curtsy.scrapers.page import Broken

DEEPEST = 50
LARGEST_INTEGER = 2**63


def plain(value: Any, where: str = "", depth: int = 0) -> Any:
    """Returns the value as JSON types. Raises `Broken`, which names the field."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _text(value, where)
    if isinstance(value, int | float):
        return _number(value, where)
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if depth == DEEPEST:
        raise Broken(f"{where[:100]} is nested more than {DEEPEST} deep.")
    if isinstance(value, Mapping):
        return {
            _name(name, where): plain(inner, f"{where}.{name}" if where else name, depth + 1)
            for name, inner in value.items()
        }
    if isinstance(value, list | tuple):
        return [plain(inner, f"{where}[{n}]", depth + 1) for n, inner in enumerate(value)]
    what = type(value).__name__
    raise Broken(f"{where or 'The record'} is of type {what}, which JSON cannot represent.")


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
