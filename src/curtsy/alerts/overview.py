"""Alerts as people read them: what fires, what is pending, what was resolved lately."""

from dataclasses import dataclass

from curtsy.alerts.evaluation import StoredAlert
from curtsy.alerts.metric import TEXTS
from curtsy.alerts.rule import Severity
from curtsy.alerts.state_machine import Phase
from curtsy.alerts.stored_alerts import last_evaluation, stored_alerts
from curtsy.alerts.stored_rules import listed_rules, stored_mutes
from curtsy.store import Connection

_ORDER = {Phase.FIRING: 0, Phase.PENDING: 1, Phase.RESOLVED: 2}


@dataclass(frozen=True, slots=True)
class ListedAlert:
    stored: StoredAlert
    severity: Severity
    threshold: float | None
    """None: the rule was deleted."""
    unit: str
    says: str
    to_do: str | None
    muted_until: int | None


@dataclass(frozen=True, slots=True)
class Listing:
    alerts: list[ListedAlert]
    """Those that fire first, the gravest first, then the newest."""
    evaluated_at: int | None
    """None: no scheduler has ever evaluated the rules."""


def list_alerts(connection: Connection, *, resolved_since: int, now: int) -> Listing:
    """Lists what fires and what is pending, and what was resolved since that instant."""
    rules = listed_rules(connection)
    mutes = stored_mutes(connection)
    found = []
    for stored in stored_alerts(connection):
        if stored.phase == Phase.RESOLVED and (stored.resolved_at or 0) < resolved_since:
            continue
        keys = ((stored.rule, stored.subject), (stored.rule, ""))
        until = max(mutes.get(key, 0) for key in keys)
        muted_until = until if until > now else None
        listed = rules.get(stored.rule)
        if listed is None:
            says = f"The rule {stored.rule} was deleted, or only another version knows it."
            found.append(ListedAlert(stored, Severity.INFO, None, "", says, None, muted_until))
            continue
        rule, is_over = listed.rule, stored.phase == Phase.RESOLVED
        tell = rule.is_good if is_over else rule.is_bad
        found.append(ListedAlert(
            stored, rule.severity, rule.threshold, TEXTS[rule.metric].unit,
            tell(stored.subject, stored.value),
            None if is_over else rule.to_do(stored.subject), muted_until,
        ))  # fmt: skip
    found.sort(key=_order)
    return Listing(found, last_evaluation(connection).evaluated_at)


def _order(one: ListedAlert) -> tuple[int, int, int, str, str]:
    phase = _ORDER[Phase(one.stored.phase)]
    return phase, -one.severity, -one.stored.since_at, one.stored.rule, one.stored.subject
