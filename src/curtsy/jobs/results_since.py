"""Reads a job's results in the order in which their pages ended, after an event of the job.

The events of a job have numbers without gaps in the order of commits: who asks for the results
after the last event read misses none that is committed later, and gets none twice.
"""

from typing import NamedTuple

from curtsy.events.stored_events import StoredEvent, read_job_after
from curtsy.jobs.results import Piece, ended_at_positions
from curtsy.store import Connection

EVENTS_AT_ONCE = 500
"""The most events that one answer looks at."""
PAGE_ENDS = frozenset({"page_fetched", "page_not_modified", "page_failed"})


class EndedSince(NamedTuple):
    piece: Piece
    last_event: int
    """The next answer begins after this event."""


def ended_since(connection: Connection, job_id: int, *, event: int, most: int) -> EndedSince:
    """The results whose pages ended after that event. Pages that came from the store have no event
    of their own; nor do pages that ended under a program that did not write positions."""
    events = read_job_after(connection, job_id, event, most=EVENTS_AT_ONCE)
    last, by_position = event, dict[int, int]()
    for one in events:
        position = _position(one)
        if position is not None:
            if position not in by_position and len(by_position) == most:
                break
            by_position[position] = one.n  # retried and ended again: its last end counts
        last = one.n
    wanted = sorted((n, position) for position, n in by_position.items())
    piece = ended_at_positions(connection, job_id, wanted)
    return EndedSince(piece, piece.items[-1].rank if piece.more else last)


def _position(event: StoredEvent) -> int | None:
    """The position of the page that ended for good with this event."""
    if event.name not in PAGE_ENDS or "again_at" in event.data:
        return None
    position = event.data.get("position")
    return position if isinstance(position, int) else None
