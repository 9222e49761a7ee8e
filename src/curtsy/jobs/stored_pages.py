"""Which pages the store has: a job for new pages only leaves them out."""

from collections.abc import Sequence

from curtsy.frontier.admit import Wanted
from curtsy.store import Connection, Statement

CHUNK = 1_000
_STORED = Statement(
    """
    SELECT p.fingerprint FROM {wanted} JOIN pages p ON p.fingerprint = wanted.fingerprint
    WHERE p.document_version > 0
    """,
    wanted={"fingerprint": "text"},
)


def without_stored(connection: Connection, wanted: Sequence[Wanted]) -> list[Wanted]:
    """The pages that were never scraped as far as the store remembers: by no job, at no age; and
    those that are requested with a body, for which no stored copy stands. They get new positions,
    without gaps."""
    new: list[Wanted] = []
    for start in range(0, len(wanted), CHUNK):
        some = wanted[start : start + CHUNK]
        rows = _STORED(connection, wanted=[(page.fingerprint,) for page in some if not page.sends])
        stored = {row.fingerprint for row in rows}
        new += [page for page in some if page.sends or page.fingerprint not in stored]
    return [page._replace(position=position) for position, page in enumerate(new)]
