"""Applies the schedules file: the changes since it was last applied."""

from collections.abc import Mapping
from dataclasses import replace

from curtsy.errors import WrongState
from curtsy.frontier.host_moves import LOCK_DECLARATIONS
from curtsy.model.roles import OPEN
from curtsy.requests.schedule_specs import new_spec
from curtsy.requests.schedules import ScheduleRequest
from curtsy.schedules.firer import CheckPayload
from curtsy.schedules.lookup import without_user
from curtsy.schedules.schedule import change, create, remove
from curtsy.sources.file import Applied, hash_of
from curtsy.store import Connection


def apply_schedules(
    connection: Connection,
    sections: Mapping[str, ScheduleRequest],
    check: CheckPayload,
    *,
    now: int,
) -> Applied:
    """Creates or changes the schedules whose sections have changed since the file was last applied,
    and leaves the others alone, with the changes that users made since. Deletes schedules whose
    sections are gone."""
    LOCK_DECLARATIONS(connection)
    known = {row.name: row for row in without_user(connection)}
    removed = [name for name, row in known.items() if row.described_as and name not in sections]
    for name in removed:
        remove(connection, known[name].public_id, now=now)
    declared = []
    for name, section in sorted(sections.items()):
        hashed, row = hash_of(section), known.get(name)
        if row is not None and row.described_as == hashed:
            continue
        if row is not None and row.of_site:
            raise WrongState(f"The name {name!r}", "taken by the schedule of a site", "used twice")
        named = section.model_copy(update={"name": name})
        spec = replace(new_spec(connection, named, OPEN, check, now, of_file=True),
                       described_as=hashed)  # fmt: skip
        if row is not None:
            change(connection, row.public_id, spec, now=now)
        else:
            create(connection, spec, now=now)
        declared.append(name)
    return Applied(declared, removed)
