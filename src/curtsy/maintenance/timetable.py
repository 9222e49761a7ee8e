"""Creates the maintenance timetable: a schedule for each maintenance task, once per database.

A row of `offers` remembers that a task's schedule was created: whoever deletes the schedule, or
changes it, finds it deleted or changed after every later start.
"""

from collections.abc import Iterable, Mapping

import orjson

from curtsy.clock import MINUTE
from curtsy.schedules.schedule import ScheduleSpec, create
from curtsy.store import Connection, Statement
from curtsy.timetable import Cron, Every, Rule

QUIET_AT_FIRST = 30 * MINUTE
"""Before the first slot: whoever sees the timetable in the log has time to change it."""
PREFIX = "maintenance:"
"""Before the name of a task: no site can have such a name."""
RULES: Mapping[str, Rule] = {
    "health": Every(30),
    "dead_letters": Every(60),
    "reports": Every(360),
    "cleanup": Cron("30 3 * * *"),
}

_CLAIM = Statement(
    """
    INSERT INTO offers (name, offered_at) SELECT name, :now FROM {wanted} WHERE true
    ON CONFLICT (name) DO NOTHING RETURNING name
    """,
    wanted={"name": "text"},
)
_SCHEDULED = Statement(
    """
    SELECT DISTINCT s.payload, s.name FROM schedules s
    JOIN {wanted} ON s.payload = wanted.payload OR (s.owner = '' AND s.name = wanted.name)
    """,
    wanted={"name": "text", "payload": "text"},
)


def create_timetable(connection: Connection, tasks: Iterable[str], *, now: int) -> list[str]:
    """Creates a schedule for each of these tasks that had none since the database exists; returns
    the names of the new schedules. Safe to call from any number of processes at once: the one that
    inserts the task's row of `offers` creates its schedule."""
    wanted = [(name,) for name in RULES if name in set(tasks)]
    claimed = list(_CLAIM(connection, wanted=wanted, now=now).scalars()) if wanted else []
    if not claimed:
        return []
    specs = [_spec(task, now) for task in RULES if task in claimed]
    texts = [(spec.name, orjson.dumps(spec.payload).decode()) for spec in specs]
    known = list(_SCHEDULED(connection, wanted=texts))
    payloads, names = {row.payload for row in known}, {row.name for row in known}
    new = [spec for spec, (name, payload) in zip(specs, texts, strict=True)
           if name not in names and payload not in payloads]  # fmt: skip
    for spec in new:
        create(connection, spec, now=now)
    return [spec.name for spec in new]


def _spec(task: str, now: int) -> ScheduleSpec:
    """The schedule of a task; it belongs to no user, like those of the schedules file."""
    return ScheduleSpec(name=f"{PREFIX}{task}", rule=RULES[task], payload={"duty": task},
                        not_before=now + QUIET_AT_FIRST)  # fmt: skip
