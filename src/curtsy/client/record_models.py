"""Builds instances of a caller's class from records."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

M = TypeVar("M")


def as_model(model: type[M], record: Mapping[str, Any]) -> M:
    """Returns the record as an instance of a dataclass or a pydantic model; leaves out what a
    dataclass does not declare."""
    validate = getattr(model, "model_validate", None)
    if validate is not None:
        found: M = validate(dict(record))
        return found
    if not is_dataclass(model):
        raise TypeError(f"{model.__name__} must be a dataclass or a pydantic model.")
    names = {field.name for field in fields(model) if field.init}
    return model(**{name: value for name, value in record.items() if name in names})
