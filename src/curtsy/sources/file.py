"""Applies the declared sources file: stores the sections that changed since it was last applied."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256

import orjson
from pydantic import BaseModel

from curtsy.frontier.source_policy import PolicyContext, forget, source_named
from curtsy.sources.policy_fields import PolicyFields
from curtsy.sources.source import put_source
from curtsy.store import Connection, Statement

_DECLARED = Statement(
    "SELECT name FROM sources WHERE described AND described_as IS NOT NULL ORDER BY name"
)


@dataclass(frozen=True, slots=True)
class Applied:
    """The names that applying a declared file changed."""

    declared: Sequence[str] = ()
    removed: Sequence[str] = ()


def apply_file(
    connection: Connection, sections: Mapping[str, PolicyFields], context: PolicyContext
) -> Applied:
    """Stores each section that differs from its last application. An unchanged section leaves later
    changes of its source alone. Deletes the descriptions whose section is gone from the file."""
    known = list(_DECLARED(connection).scalars())
    removed = [name for name in known if name not in sections and forget(connection, name, context)]
    declared = []
    for name, fields in sorted(sections.items()):
        hashed = hash_of(fields)
        row = source_named(connection, name)
        if row is None or row.described_as != hashed:
            put_source(connection, name, fields, context, as_in_file=hashed)
            declared.append(name)
    return Applied(declared, removed)


def hash_of(section: BaseModel) -> str:
    """A hash of a section's values; spelling and comments do not change it."""
    values = section.model_dump(mode="json", exclude_unset=True)
    return sha256(orjson.dumps(values, option=orjson.OPT_SORT_KEYS)).hexdigest()
