"""The fields that a scraper declares: names in an order, or the class that has them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from curtsy.model.record_models import is_model, names_of

MOST_FIELDS = 1_000


@dataclass(frozen=True, slots=True)
class DeclaredFields:
    names: tuple[str, ...]
    model: type | None = None
    """The dataclass or pydantic model of the records; None: only the names were declared."""

    def ordered(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """The declared fields in their order, null where one is missing; then all others."""
        return {name: fields.get(name) for name in self.names} | dict(fields)


def declared_fields(names: Sequence[str] | None, model: type | None) -> DeclaredFields | None:
    """Raises `ValueError` with the end of a sentence about the scraper."""
    if names is not None and model is not None:
        raise ValueError("declares both fields and record: one of them names the fields")
    if model is not None:
        if not is_model(model):
            raise ValueError("has a record that is neither a dataclass nor a pydantic model")
        return DeclaredFields(_checked(names_of(model)), model)
    return DeclaredFields(_checked(names)) if names is not None else None


def _checked(names: Any) -> tuple[str, ...]:
    if isinstance(names, str) or not isinstance(names, Sequence) or not names:
        raise ValueError("has fields that are not a list of names")
    if not all(isinstance(name, str) and name for name in names):
        raise ValueError("has a field whose name is no text")
    if len(set(names)) < len(names):
        raise ValueError("declares a field twice")
    if len(names) > MOST_FIELDS:
        raise ValueError(f"declares more than {MOST_FIELDS} fields")
    return tuple(names)
