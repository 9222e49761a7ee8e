"""Reads the values of sites from the last slots of their schedules: silence, and lost records."""

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import NamedTuple

from curtsy.alerts.evaluation import Values
from curtsy.alerts.state_machine import Reading
from curtsy.model.job_states import OPEN_STATES, JobState
from curtsy.store import Connection, Lookup, Statement

MOST_SITES = 1_000
SLOTS_READ, SLOTS_SEARCHED = 10, 200
"""Of each site, the newest. Slots that were skipped, since the run before still went on, say
nothing."""
EARLIER_RUNS, LEAST_EARLIER = 5, 3
"""Runs before the last one, whose median of records is what is usual; with fewer than the least,
nothing is usual."""
COUNTED_AT_ONCE, REMEMBERED = 200, 20_000
_GOOD = (JobState.SUCCEEDED, JobState.PARTIAL)

_SITES = Statement(
    """
    SELECT s.name, c.id FROM sites s JOIN schedules c ON c.site_id = s.id AND c.of_site
    WHERE s.enabled AND c.enabled ORDER BY s.name LIMIT :most
    """
)
_SLOTS = Lookup(
    """
    SELECT s.schedule_id, s.outcome, s.job_id, j.state, j.gathered_at FROM (
        SELECT f.schedule_id, f.outcome, f.job_id, f.fire_at FROM firings f
        WHERE f.schedule_id = {each_schedule_id} ORDER BY f.fire_at DESC LIMIT :searched) AS s
    LEFT JOIN jobs j ON j.id = s.job_id
    WHERE s.outcome <> 'skipped' ORDER BY s.fire_at DESC LIMIT :most
    """,
    each={"schedule_id": "bigint"},
)
_RECORDS = Lookup(
    """
    SELECT {each_job_id} AS job_id, count(*) AS number FROM sightings
    WHERE job_id = {each_job_id} AND change <> 'removed'
    """,
    each={"job_id": "bigint"},
)


class Slot(NamedTuple):
    schedule_id: int
    outcome: str
    job_id: int | None
    state: str | None
    """Of its run; None: there is none, or it was purged."""
    gathered_at: int | None


def slots_of_sites(connection: Connection) -> dict[str, list[Slot]]:
    """The last slots of each site that were not skipped, the newest first."""
    sites = {row.id: row.name for row in _SITES(connection, most=MOST_SITES)}
    found: dict[str, list[Slot]] = {name: [] for name in sites.values()}
    rows = _SLOTS.tuples(
        connection,
        [(schedule_id,) for schedule_id in sites],
        most=SLOTS_READ,
        searched=SLOTS_SEARCHED,
    )
    for row in rows:
        slot = Slot._make(row)
        found[sites[slot.schedule_id]].append(slot)
    return found


def slots_without_success(slots: Mapping[str, Sequence[Slot]]) -> Values:
    return Values({name: float(_silent(of_site)) for name, of_site in slots.items()})


def _silent(slots: Iterable[Slot]) -> int:
    """Slots that ended since the last success, as far as the runs are known."""
    number = 0
    for slot in slots:
        if slot.state in _GOOD or (slot.job_id is not None and slot.state is None):
            break
        number += slot.outcome != "waiting" and slot.state not in OPEN_STATES
    return number


class RecordCounts:
    """How many records runs have found; remembered, since a gathered run changes no more."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[int, int], int] = OrderedDict()
        """By job and the time at which it was gathered."""

    def of_usual(self, connection: Connection, slots: Mapping[str, Sequence[Slot]]) -> Values:
        """The records of each site's last run, as a percentage of what is usual."""
        runs = {name: _gathered(of_site) for name, of_site in slots.items()}
        self._count(connection, [run for some in runs.values() for run in some])
        return Values({name: self._share(some) for name, some in runs.items()})

    def _share(self, runs: Sequence[tuple[int, int]]) -> Reading:
        counts = [self._known[run] for run in runs if run in self._known]
        if len(counts) != len(runs) or len(counts) <= LEAST_EARLIER:
            return None
        usual = median(counts[1:])
        return 100 * counts[0] / usual if usual else None

    def _count(self, connection: Connection, runs: Iterable[tuple[int, int]]) -> None:
        """Counts some of the runs that are not known yet; the others next time."""
        missing = dict(run for run in runs if run not in self._known)
        wanted = [(job_id,) for job_id in list(missing)[:COUNTED_AT_ONCE]]
        for job_id, number in _RECORDS.tuples(connection, wanted) if wanted else ():
            self._known[job_id, missing[job_id]] = number
        while len(self._known) > REMEMBERED:
            self._known.popitem(last=False)


def _gathered(slots: Iterable[Slot]) -> list[tuple[int, int]]:
    """The last run whose pages were fetched, and complete ones before it; the newest first."""
    found = [
        slot
        for slot in slots
        if slot.job_id is not None and slot.gathered_at is not None and slot.state in _GOOD
    ]
    complete = [slot for slot in found[1:] if slot.state == JobState.SUCCEEDED][:EARLIER_RUNS]
    return [(slot.job_id or 0, slot.gathered_at or 0) for slot in [*found[:1], *complete]]
