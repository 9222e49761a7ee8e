"""A rule as `alerts.toml` and the API write it; for a built-in rule, only what is changed."""

import re
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from curtsy.alerts.builtin_rules import BUILTIN
from curtsy.alerts.metric import TEXTS, Metric, Unit
from curtsy.alerts.rule import Rule, Severity
from curtsy.clock import SECOND
from curtsy.errors import BadRequest
from curtsy.model.spans import Span

NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,99}")
RESERVED = ("rules", "channels", "test")
"""Words that are paths of the API."""
Pattern = Annotated[str, StringConstraints(min_length=1, max_length=300)]
Number = Annotated[float, Field(allow_inf_nan=False, ge=0, le=1e15)]
_DAY_SECONDS = 86_400


class RuleFields(BaseModel):
    """Spans are seconds. A field that is left out keeps its default, or that of the built-in
    rule."""

    model_config = ConfigDict(extra="forbid")

    metric: Metric | None = Field(None, description="What is watched; required for own rules.")
    above: Number | None = Field(None, description="Fires above this value.")
    below: Number | None = Field(None, description="Fires below this value.")
    clear: Number | None = Field(
        None, description="A firing alert is resolved at this value; without it, at the threshold."
    )
    hold: Span | None = Field(
        None, alias="for", ge=0, le=30 * _DAY_SECONDS,
        description="Seconds for which the value must be bad before the alert fires.")  # fmt: skip
    severity: Literal["info", "warning", "critical"] | None = None
    window: Span | None = Field(
        None, ge=60, le=7 * _DAY_SECONDS,
        description="Seconds over which success and missed slots are counted.")  # fmt: skip
    at_least: int | None = Field(
        None, ge=1, le=10**9, description="With fewer pages in the window, success is unknown."
    )
    only: list[Pattern] | None = Field(
        None, max_length=1_000, description="Patterns of the subjects to watch, such as shop.*"
    )
    excluded: list[Pattern] | None = Field(None, alias="except", max_length=1_000)
    channels: list[Pattern] | None = Field(
        None, max_length=100, description="Send to these channels only, whatever the severity."
    )
    enabled: bool | None = None

    def declared(self) -> dict[str, Any]:
        """The fields that were given, as they are stored and shown."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)


def rule_of(name: str, fields: RuleFields) -> Rule:
    """Returns the whole rule. Raises `BadRequest` with all problems."""
    if not NAME.fullmatch(name) or name in RESERVED:
        raise BadRequest([(f"{name[:100]!r} is not a valid name of a rule: use a-z, 0-9, '.', '_', "
                          "'-', and not rules, channels or test.")])  # fmt: skip
    builtin = BUILTIN.get(name)
    metric = fields.metric or (builtin.metric if builtin else None)
    if metric is None:
        known = ", ".join(Metric)
        builtins = ", ".join(BUILTIN)
        sentence = f"An own rule needs a metric, one of {known}; the built-in rules are {builtins}."
        raise BadRequest([sentence])
    if builtin is not None and metric != builtin.metric:
        raise BadRequest([(f"The built-in rule {name} watches {builtin.metric}: give a rule on "
                          f"{metric} another name.")])  # fmt: skip
    given = _given(fields) | {"name": name, "metric": metric}
    rule = Rule(**((builtin.values() if builtin else {}) | _threshold(builtin, given) | given))
    if problems := rule.problems:
        raise BadRequest([f"The rule {name} {problem}." for problem in problems])
    return rule


def _given(fields: RuleFields) -> dict[str, Any]:
    """Converts the fields that were given to those of a rule."""
    found: dict[str, Any] = {
        name: value for name in RuleFields.model_fields
        if name != "metric" and (value := getattr(fields, name)) is not None
    }  # fmt: skip
    for span in ("hold", "window"):
        if span in found:
            found[span] = round(found[span] * SECOND)
    for patterns in ("only", "excluded", "channels"):
        if patterns in found:
            found[patterns] = tuple(found[patterns])
    if "severity" in found:
        found["severity"] = Severity.named(found["severity"])
    return found


def _threshold(builtin: Rule | None, given: dict[str, Any]) -> dict[str, Any]:
    """A threshold that replaces that of a built-in rule also replaces its side; without a `clear`
    of its own, it gets one in proportion to the built-in rule's."""
    if builtin is None or ("above" not in given and "below" not in given):
        return {}
    sides: dict[str, float | None] = {"above": None, "below": None, "clear": None}
    side = "above" if "above" in given else "below"
    before = getattr(builtin, side)
    if before is not None and builtin.clear is not None:
        is_share = side == "below" and TEXTS[builtin.metric].unit is Unit.PERCENT
        best = 100.0 if is_share else 0.0
        clear = _in_proportion(given[side], before, builtin.clear, best)
        most = TEXTS[builtin.metric].most
        sides["clear"] = clear if most is None else max(given[side], min(clear, most))
    return sides


def _in_proportion(threshold: float, before: float, clear: float, best: float) -> float:
    """Returns the value that is to `threshold` what `clear` was to `before`, measured from the
    `best` value: so that it can be reached from every threshold."""
    if before == best or (best and threshold >= best):
        return threshold
    return best + (threshold - best) * (clear - best) / (before - best)
