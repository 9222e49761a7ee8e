"""The file of schedules, as it takes effect: what changed in it since it was last applied."""

from collections.abc import Mapping
from dataclasses import replace

from curtsy.errors import WrongState
from curtsy.frontier.host_moves import LOCK_DECLARATIONS
from curtsy.model.roles import OPEN
from curtsy.requests.schedule_specs import CheckPayload, new_spec
from curtsy.requests.schedules import ScheduleRequest
from curtsy.schedules.lookup import nobodys
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
    """A section that is not as it was last time counts anew; one that is leaves alone what was
    changed since. What the file declared and has no section any more is removed."""
    LOCK_DECLARATIONS(connection)
    known = {row.name: row for row in nobodys(connection)}
    removed = [name for name, row in known.items() if row.described_as and name not in sections]
    for name in removed:
        remove(connection, known[name].public_id, now=now)
    declared = []
    for name, said in sorted(sections.items()):
        hashed, row = hash_of(said), known.get(name)
        if row is not None and row.described_as == hashed:
            continue
        if row is not None and row.of_site:
            raise WrongState(f"The name {name!r}", "that of a site's schedule", "used twice")
        named = said.model_copy(update={"name": name})
        spec = replace(new_spec(connection, named, OPEN, check, now), described_as=hashed)
        if row is not None:
            change(connection, row.public_id, spec, now=now)
        else:
            create(connection, spec, now=now)
        declared.append(name)
    return Applied(declared, removed)
