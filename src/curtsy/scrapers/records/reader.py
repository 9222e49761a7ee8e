"""Reads what a scraper returned as records: dicts, dataclasses and pydantic models become fields
with JSON values, in the declared order."""

from collections.abc import Iterable, Mapping
from typing import Any

from curtsy.model.record_models import (
    is_instance_of_model,
    is_pydantic_model,
    is_validation_error,
    sentence_of,
)
from curtsy.scrapers.json_values import fields_of, plain
from curtsy.scrapers.page import Broken, Page
from curtsy.scrapers.records.declared_fields import DeclaredFields

NAMES_SHOWN = 10

Fields = dict[str, Any]


class RecordReader:
    """Reads the records of one page. Raises `Broken`."""

    def __init__(self, declared: DeclaredFields | None, page: Page) -> None:
        self._declared, self._page = declared, page
        self._undeclared: dict[str, None] = {}

    def read_one(self, record: Any) -> Fields:
        fields = self._read(record, "")
        self._warn()
        return fields

    def read_all(self, records: Iterable[Any]) -> list[Fields]:
        found = [self._read(one, f"records[{n}]") for n, one in enumerate(records)]
        self._warn()
        return found

    def _read(self, record: Any, where: str) -> Fields:
        given = self._given(record, where)
        fields: Fields = plain(given, where)
        if self._declared is None:
            return fields
        ordered = self._declared.ordered(fields)
        if len(ordered) > len(self._declared.names):
            self._undeclared |= dict.fromkeys([*ordered][len(self._declared.names) :])
        return ordered

    def _given(self, record: Any, where: str) -> Mapping[str, Any]:
        model = self._declared.model if self._declared is not None else None
        if isinstance(record, Mapping):
            if model is None or not is_pydantic_model(model):
                return record
            record = _validated(model, record, where)
        if not is_instance_of_model(record):
            what = type(record).__name__
            wanted = "not a dict, a dataclass or a pydantic model"
            raise Broken(f"{where or 'The record'} is of type {what}, {wanted}.")
        if model is not None and not isinstance(record, model):
            what = f"a {type(record).__name__}, not the declared {model.__name__}"
            raise Broken(f"{where or 'The record'} is {what}.")
        return fields_of(record, where)

    def _warn(self) -> None:
        """Names fields that were not declared, once for all records of the page."""
        if not self._undeclared:
            return
        names = [repr(name[:60]) for name in self._undeclared]
        more = f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
        self._page.log(f"Not declared, and kept after the declared fields: "
                       f"{', '.join(names[:NAMES_SHOWN])}{more}.", "WARNING")  # fmt: skip


def _validated(model: Any, record: Mapping[str, Any], where: str) -> Any:
    try:
        return model.model_validate(dict(record), by_name=True, by_alias=True)
    except ValueError as error:
        if not is_validation_error(error):
            raise
        raise invalid(error, where) from error


def invalid(error: BaseException, where: str) -> Broken:
    """The failure of a page on which a pydantic model refused values."""
    return Broken(f"{where or 'The record'} is {sentence_of(error)}")
