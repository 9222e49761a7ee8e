"""Judges all rules at once: from what is stored and what was read, to what has to be written.

A pure function. Several schedulers may evaluate the same; `stored_alerts.write_plan` lets one of
them write.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from curtsy.alerts.rule import Measure, Rule, Severity
from curtsy.alerts.state_machine import (
    GONE,
    AlertState,
    Gone,
    Phase,
    Reading,
    advance,
    elapsed,
)

MOST_ALERTS = 100
"""Of one rule that are pending or firing; further subjects are left alone until some end."""

Key = tuple[str, str]
"""Rule and subject."""


@dataclass(frozen=True, slots=True)
class Values:
    """What was read for a measure, by subject; an empty subject is the whole system."""

    by_subject: Mapping[str, Reading]
    absent: Reading = GONE
    """The reading of subjects that are not among them. Unknown (None) where the values were too
    many to read all."""

    def of(self, subject: str) -> Reading:
        return self.by_subject.get(subject, self.absent)


Readings = Mapping[Measure, Values]
"""A measure that is missing could not be read: all its values are unknown."""
UNKNOWN = Values({}, absent=None)


class StoredAlert(NamedTuple):
    """A row of `alerts`."""

    rule: str
    subject: str
    phase: str
    held: int
    seen_at: int
    """When its value was last known while it was pending."""
    value: float | None
    incident: int | None
    """The turn in which it last fired."""
    announced: bool
    since_at: int
    fired_at: int | None
    resolved_at: int | None

    @property
    def state(self) -> AlertState:
        return AlertState(Phase(self.phase), self.held)


class ChannelTerms(NamedTuple):
    """Which messages a channel takes."""

    name: str
    severity: Severity
    """The least severity."""


@dataclass(frozen=True, slots=True)
class Standing:
    """What is stored when an evaluation begins."""

    turn: int
    evaluated_at: int | None
    clock_version: int | None
    rules: Mapping[str, Rule]
    alerts: Mapping[Key, StoredAlert]
    deleted: Collection[str] = ()
    """Rules that were deleted while they had alerts. A rule that is neither here nor among the
    rules is one that only another version knows: its alerts are left to it."""
    channels: Sequence[ChannelTerms] = ()
    mutes: Mapping[Key, int] = field(default_factory=dict)
    """Until when; an empty subject mutes all alerts of the rule."""

    def is_muted(self, key: Key, now: int) -> bool:
        return any(self.mutes.get(one, 0) > now for one in (key, (key[0], "")))


class Change(NamedTuple):
    """An alert that fired or was resolved."""

    rule: str
    subject: str
    incident: int
    phase: Phase
    data: Mapping[str, Any]
    """Severity, value and sentences, as the messages show them."""


class Announcement(NamedTuple):
    """A firing, and a channel that has to learn of it."""

    rule: str
    subject: str
    incident: int
    channel: str


@dataclass(frozen=True, slots=True)
class Plan:
    """What an evaluation leads to."""

    stored: list[StoredAlert] = field(default_factory=list)
    """Rows to insert or to update."""
    deleted: list[Key] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    announcements: list[Announcement] = field(default_factory=list)
    left_out: dict[str, int] = field(default_factory=dict)
    """How many bad subjects of a rule are above the limit."""


def evaluate(standing: Standing, readings: Readings, *, now: int, has_jumped: bool) -> Plan:
    """`has_jumped`: the clock was set since the evaluation before."""
    run = _Evaluation(standing, now, has_jumped)
    for rule in standing.rules.values():
        run.evaluate(rule, readings.get(rule.measure, UNKNOWN) if rule.enabled else Values({}))
    for (rule_name, _subject), alert in standing.alerts.items():
        if rule_name in standing.deleted:
            run.judge(None, alert, GONE)
    return run.plan


class _Evaluation:
    def __init__(self, standing: Standing, now: int, has_jumped: bool) -> None:
        self.plan = Plan()
        self._standing, self._now, self._has_jumped = standing, now, has_jumped
        self._by_rule: defaultdict[str, list[StoredAlert]] = defaultdict(list)
        for alert in standing.alerts.values():
            self._by_rule[alert.rule].append(alert)

    def evaluate(self, rule: Rule, values: Values) -> None:
        known = self._by_rule[rule.name]
        open_ones = {alert.subject: alert for alert in known if alert.phase != Phase.RESOLVED}
        for alert in open_ones.values():
            reading = values.of(alert.subject) if rule.watches(alert.subject) else GONE
            self.judge(rule, alert, reading)
        resolved = {alert.subject: alert for alert in known if alert.phase == Phase.RESOLVED}
        bad = [one for one in _worst_first(rule, values) if one[0] not in open_ones]
        room = max(0, MOST_ALERTS - len(open_ones))
        for subject, reading in bad[:room]:
            alert = resolved.get(subject) or _new(rule, subject, self._now)
            self.judge(rule, alert, reading)
        if len(bad) > room:
            self.plan.left_out[rule.name] = len(bad) - room

    def judge(self, rule: Rule | None, alert: StoredAlert, reading: Reading) -> None:
        """Adds what becomes of one alert. `rule` is None if the rule was deleted."""
        step = elapsed(alert.seen_at, self._now, has_jumped=self._has_jumped)
        state = _next(rule, alert, reading, step)
        after = alert._replace(phase=state.phase, held=state.held)
        if not isinstance(reading, Gone | None):
            seen_at = self._now if state.phase == Phase.PENDING else alert.seen_at
            after = after._replace(value=reading, seen_at=seen_at)
        if state.phase != alert.phase:
            after = self._entered(rule, alert, after, reading)
        if after.phase == Phase.INACTIVE:
            if alert.phase != Phase.INACTIVE:
                self.plan.deleted.append((alert.rule, alert.subject))
            return
        if after.phase == Phase.FIRING and not after.announced and rule is not None:
            after = self._announced(rule, after)
        if after != alert and not (after.phase == alert.phase == Phase.RESOLVED):
            self.plan.stored.append(after)

    def _entered(
        self, rule: Rule | None, before: StoredAlert, after: StoredAlert, reading: Reading
    ) -> StoredAlert:
        """Returns the row of an alert that enters its phase now; adds the change that people
        see."""
        now = self._now
        match Phase(after.phase):
            case Phase.FIRING:
                after = after._replace(incident=self._standing.turn, announced=False, since_at=now,
                                       fired_at=now, resolved_at=None)  # fmt: skip
            case Phase.RESOLVED:
                after = after._replace(since_at=now, resolved_at=now)
            case Phase.PENDING:
                return after._replace(since_at=now)
            case Phase.INACTIVE if before.resolved_at is not None:  # as before it was pending
                return after._replace(phase=Phase.RESOLVED, since_at=before.resolved_at)
            case _:
                return after
        assert after.incident is not None, "it has fired"
        data = _data(rule, after, None if isinstance(reading, Gone | None) else reading)
        change = Change(after.rule, after.subject, after.incident, Phase(after.phase), data)
        self.plan.changes.append(change)
        return after

    def _announced(self, rule: Rule, alert: StoredAlert) -> StoredAlert:
        """Adds the messages about a firing, unless the alert is muted: then they follow when the
        mute ends, if the alert still fires."""
        assert alert.incident is not None, "it has fired"
        if self._standing.is_muted((alert.rule, alert.subject), self._now):
            return alert
        self.plan.announcements.extend(
            Announcement(alert.rule, alert.subject, alert.incident, channel.name)
            for channel in self._standing.channels if _takes(channel, rule)
        )  # fmt: skip
        return alert._replace(announced=True)


def _new(rule: Rule, subject: str, now: int) -> StoredAlert:
    return StoredAlert(
        rule.name, subject, Phase.INACTIVE, held=0, seen_at=now, value=None, incident=None,
        announced=False, since_at=now, fired_at=None, resolved_at=None,
    )  # fmt: skip


def _worst_first(rule: Rule, values: Values) -> Iterator[tuple[str, float]]:
    """Yields the bad values of the subjects that the rule watches."""
    bounds = rule.bounds
    bad = [(subject, value) for subject, value in values.by_subject.items()
           if not isinstance(value, Gone | None) and bounds.is_bad(value)
           and rule.watches(subject)]  # fmt: skip
    yield from sorted(bad, key=lambda one: (one[1], one[0]), reverse=bounds.is_above)


def _next(rule: Rule | None, alert: StoredAlert, reading: Reading, step: int) -> AlertState:
    if rule is not None:
        return advance(alert.state, reading, rule.bounds, step)
    over = alert.phase == Phase.FIRING
    return AlertState(Phase.RESOLVED if over or alert.phase == Phase.RESOLVED else Phase.INACTIVE)


def _data(rule: Rule | None, alert: StoredAlert, value: float | None) -> dict[str, Any]:
    found = {"value": value, "fired_at": alert.fired_at}
    if rule is None:
        sentence = f"The rule {alert.rule} was deleted."
        return found | {"severity": Severity.INFO.word, "says": sentence, "to_do": None}
    is_firing = alert.phase == Phase.FIRING
    if not rule.enabled:
        says = f"The rule {alert.rule} was disabled."
    elif is_firing:
        says = rule.is_bad(alert.subject, value)
    else:
        says = rule.is_good(alert.subject, value)
    return found | {
        "metric": rule.metric, "severity": rule.severity.word, "threshold": rule.threshold,
        "says": says, "to_do": rule.to_do(alert.subject) if is_firing else None,
    }  # fmt: skip


def _takes(channel: ChannelTerms, rule: Rule) -> bool:
    """A rule that names its channels overrides their least severity."""
    return channel.name in rule.channels if rule.channels else rule.severity >= channel.severity
