"""The file of sources, as it takes effect: what changed in it since it was last applied."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256

import orjson
from pydantic import BaseModel

from curtsy.frontier.source_policy import PolicyContext, forget, source_named
from curtsy.sources.policy_fields import PolicyFields
from curtsy.sources.source import put_source
from curtsy.store import Connection, Statement

_OF_THE_FILE = Statement(
    "SELECT name FROM sources WHERE described AND described_as IS NOT NULL ORDER BY name"
)


@dataclass(frozen=True, slots=True)
class Applied:
    """What a declared file changed, by name."""

    declared: Sequence[str] = ()
    removed: Sequence[str] = ()


def apply_file(
    connection: Connection, sections: Mapping[str, PolicyFields], around: PolicyContext
) -> Applied:
    """A section that is not as it was last time counts anew; one that is leaves alone what was
    said of its source since. What the file described and has no section any more is forgotten."""
    known = _OF_THE_FILE(connection).scalars()
    forgotten = [
        name for name in list(known) if name not in sections and forget(connection, name, around)
    ]
    described = []
    for name, words in sorted(sections.items()):
        hashed = hash_of(words)
        row = source_named(connection, name)
        if row is None or row.described_as != hashed:
            put_source(connection, name, words, around, as_in_file=hashed)
            described.append(name)
    return Applied(described, forgotten)


def hash_of(words: BaseModel) -> str:
    """Of what a section of a file says; how it is spelt, and comments, make no difference."""
    said = words.model_dump(mode="json", exclude_unset=True)
    return sha256(orjson.dumps(said, option=orjson.OPT_SORT_KEYS)).hexdigest()
