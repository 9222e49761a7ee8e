"""The periodic step that evaluates the rules. Any number of schedulers run it; rows decide which of
them writes."""

import random
from collections import defaultdict
from collections.abc import Collection, Mapping

from curtsy.alerts.evaluation import Plan, Standing, evaluate
from curtsy.alerts.readings.reader import MetricReader
from curtsy.alerts.rule import Measure
from curtsy.alerts.state_machine import Phase
from curtsy.alerts.stored_alerts import last_evaluation, prune, read_standing, write_plan
from curtsy.clock import HOUR, SECOND, Clock
from curtsy.frontier.fence import TimeShifted
from curtsy.logs import logger
from curtsy.store import Store

log = logger("alerts")

EVALUATE_EVERY = 15 * SECOND
PRUNE_EVERY = HOUR


class Evaluator:
    def __init__(self, *, store: Store, clock: Clock, reader: MetricReader) -> None:
        self._store, self._clock, self._reader = store, clock, reader
        self._prune_at = 0
        self._left_out: dict[str, int] = {}

    async def step(self) -> float:
        """A periodic step. Returns the seconds until the rules are due again."""
        wait = EVALUATE_EVERY / SECOND * random.uniform(0.9, 1.1)
        last = await self._store.read(last_evaluation)
        since = self._clock.now() - (last.evaluated_at or 0)
        if last.evaluated_at is not None and 0 <= since < EVALUATE_EVERY // 2:
            return wait - since / SECOND  # another scheduler has just done it
        try:
            await self.evaluate()
        except TimeShifted:
            return 0.5  # our clock is synchronised in a moment
        await self._prune()
        return wait

    async def evaluate(self) -> bool:
        """Evaluates once; returns whether this process wrote the result."""
        standing = await self._store.read(read_standing)
        readings = await self._reader.read(*_needed(standing))
        now, version = self._clock.now(), self._clock.version
        has_jumped = version != standing.clock_version
        plan = evaluate(standing, readings, now=now, has_jumped=has_jumped)
        written = await self._store.write(
            lambda c: write_plan(c, standing, plan, now=now, clock_version=version),
            durable=bool(plan.changes or plan.announcements),
        )
        if written:
            self._report(plan)
        return written

    def _report(self, plan: Plan) -> None:
        for change in plan.changes:
            report = log.warning if change.phase == Phase.FIRING else log.info
            report(f"alert_{change.phase}", rule=change.rule, subject=change.subject or None,
                   severity=change.data["severity"], says=change.data["says"],
                   to_do=change.data["to_do"])  # fmt: skip
        if plan.left_out and plan.left_out != self._left_out:
            log.warning("alerts_left_out", subjects_by_rule=plan.left_out,
                        why="a rule raises at most a hundred alerts at a time")  # fmt: skip
        self._left_out = plan.left_out

    async def _prune(self) -> None:
        monotonic = self._clock.monotonic()
        if self._clock.is_doubtful or monotonic < self._prune_at:
            return
        now = self._clock.now()
        while await self._store.write(lambda c: prune(c, now=now)):
            pass
        self._prune_at = monotonic + PRUNE_EVERY


def _needed(standing: Standing) -> tuple[Collection[Measure], Mapping[Measure, Collection[str]]]:
    """What has to be read, and the subjects of alerts that are pending or firing."""
    measures = {rule.name: rule.measure for rule in standing.rules.values() if rule.enabled}
    known: defaultdict[Measure, set[str]] = defaultdict(set)
    for alert in standing.alerts.values():
        if alert.rule in measures and alert.phase != Phase.RESOLVED:
            known[measures[alert.rule]].add(alert.subject)
    return set(measures.values()), known
