"""Every number with a fraction that a caller or a file may send is finite, has bounds, and is kept
to the millisecond as it was accepted."""

import importlib
import math
import pkgutil
import typing
from collections.abc import Iterator
from typing import Annotated, Any

import pytest
from annotated_types import Ge
from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

import curtsy
from curtsy.config.conversions import milliseconds
from curtsy.sources.policy_fields import PolicyFields, fields_of

GIVEN_BY_OTHERS = ("config", "requests", "sites", "sources", "api")
RATIOS = {"RespectfulHours.slowdown"}
THRESHOLDS = {"RuleFields.above", "RuleFields.below", "RuleFields.clear"}
"""Of alerts: percent, bytes, hours, numbers. Neither they nor ratios are spans of time."""


def _models() -> Iterator[type[BaseModel]]:
    for room in GIVEN_BY_OTHERS:
        for found in pkgutil.walk_packages([f"{curtsy.__path__[0]}/{room}"], f"curtsy.{room}."):
            importlib.import_module(found.name)
    waiting = [BaseModel]
    while waiting:
        model = waiting.pop()
        waiting += model.__subclasses__()
        if model.__module__.startswith("curtsy.") and ".schemas." not in model.__module__:
            yield model  # schemas shape answers


def _has_float(annotation: Any) -> bool:
    return annotation is float or any(map(_has_float, typing.get_args(annotation)))


FIELDS: dict[str, FieldInfo] = {
    f"{model.__name__}.{name}": field
    for model in _models()
    for name, field in model.model_fields.items()
    if _has_float(field.annotation)
}


def _accepted(field: FieldInfo, value: float) -> Any:
    whole: Any = Annotated[field.annotation, *field.metadata] if field.metadata else None
    return TypeAdapter(whole or field.annotation).validate_python(value)


def test_the_fields_are_found() -> None:
    assert {"PolicyFields.timeout", "Settings.scrape_timeout", "SiteSpec.min_pause_seconds",
            "RespectfulHours.slowdown"} <= set(FIELDS)  # fmt: skip


@pytest.mark.parametrize("name", sorted(FIELDS))
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, -1, 1e308])
def test_what_makes_no_sense_is_refused(name: str, value: float) -> None:
    with pytest.raises(ValidationError):
        _accepted(FIELDS[name], value)


@pytest.mark.parametrize("name", sorted(set(FIELDS) - THRESHOLDS))
@pytest.mark.parametrize("value", [5e-324, 1e-9, 0.0004])
def test_what_is_too_small_is_refused(name: str, value: float) -> None:
    with pytest.raises(ValidationError):
        _accepted(FIELDS[name], value)


@pytest.mark.parametrize("name", sorted(set(FIELDS) - RATIOS - THRESHOLDS))
@pytest.mark.parametrize("value", [1.0004999, 1.0005, 1.2345678, 59.9999, 300])
def test_what_is_accepted_is_what_is_stored(name: str, value: float) -> None:
    value += max((m.ge for m in FIELDS[name].metadata if isinstance(m, Ge) and m.ge > 1), default=0)  # type: ignore[operator]
    accepted = _accepted(FIELDS[name], value)
    assert milliseconds(accepted) / 1000 == accepted
    assert abs(accepted - value) <= 0.0005 + 1e-9


@pytest.mark.parametrize("value", [0.1, 0.25, 1.0004999, 3_600.0])
def test_a_policys_timeout_comes_back_as_it_was_accepted(value: float) -> None:
    given = PolicyFields(timeout=value)
    assert fields_of(given.overrides()).timeout == given.timeout


@pytest.mark.parametrize("value", [5e-324, 0, 0.099, 0.0004])
def test_no_policy_has_a_timeout_that_no_page_can_keep(value: float) -> None:
    with pytest.raises(ValidationError):
        PolicyFields(timeout=value)


def test_delays_are_compared_as_they_are_stored() -> None:
    given = PolicyFields(min_delay_seconds=1.0004, max_delay_seconds=1.0001)
    assert given.min_delay_seconds == given.max_delay_seconds == 1.0
