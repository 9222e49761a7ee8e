"""Receipts: a row for each source and day. The owner of the source writes absolute counts."""

from collections.abc import Iterable, Sequence

from curtsy.politeness.receipt import Receipt
from curtsy.store import Call, Connection, Statement

_COLUMNS = (
    "day, requests, robots_requests, robots_refusals, smallest_gap_ms, rests_announced, "
    "rests_of_our_own, not_modified, bytes, bytes_saved"
)
RECEIPT_OF_DAY = f"""
    (SELECT {{json_array}}({_COLUMNS}) FROM receipts
     WHERE receipts.source_id = sources.id AND receipts.day = :day)
    """  # noqa: S608
"""A column of a statement on `sources`: the receipt of that day as JSON, or NULL."""
_OF_DAY = Statement(
    f"""
    SELECT r.source_id, {_COLUMNS} FROM {{wanted}} JOIN receipts r ON r.source_id = wanted.id
    WHERE r.day = :day
    """,  # noqa: S608
    wanted={"id": "bigint"},
)
_OF_SOURCE = Statement(
    f"""
    SELECT {_COLUMNS} FROM receipts
    WHERE source_id = :source_id AND day >= :first AND day <= :last ORDER BY day DESC
    """  # noqa: S608
)
_COUNTS = ("requests", "robots_requests", "robots_refusals", "rests_announced",
           "rests_of_our_own", "not_modified", "bytes", "bytes_saved")  # fmt: skip
_WRITE = Statement(  # a return to an earlier day, as after a clock was set back, reduces no count
    f"""
    INSERT INTO receipts (source_id, {_COLUMNS}) SELECT source_id, {_COLUMNS} FROM {{new}}
    WHERE true
    ON CONFLICT (source_id, day) DO UPDATE SET
        {", ".join(f"{name} = {{greatest}}(receipts.{name}, excluded.{name})" for name in _COUNTS)},
        smallest_gap_ms = coalesce({{least}}(receipts.smallest_gap_ms, excluded.smallest_gap_ms),
                                   excluded.smallest_gap_ms, receipts.smallest_gap_ms)
    """,  # noqa: S608
    new={"source_id": "bigint", "day": "int", "requests": "int", "robots_requests": "int",
         "robots_refusals": "int", "smallest_gap_ms": "bigint", "rests_announced": "int",
         "rests_of_our_own": "int", "not_modified": "int", "bytes": "bigint",
         "bytes_saved": "bigint"},
)  # fmt: skip


def receipts_of(
    connection: Connection, sources: Sequence[tuple[int]], *, day: int
) -> dict[int, Receipt]:
    """The receipts of one day, by source id."""
    return {source_id: Receipt(*row) for source_id, *row in
            _OF_DAY(connection, wanted=sources, day=day)}  # fmt: skip


def receipt_calls(receipts: Iterable[tuple[int, Receipt]]) -> list[Call]:
    """Returns the call that writes absolute counts: a repeated write does no harm."""
    rows = [(source_id, *receipt.row()) for source_id, receipt in receipts]
    return [(_WRITE, {"new": rows})] if rows else []


def receipts_since(
    connection: Connection, source_id: int, *, first: int, last: int
) -> list[Receipt]:
    """The receipts of the days with requests, the newest first."""
    return [Receipt(*row) for row in
            _OF_SOURCE(connection, source_id=source_id, first=first, last=last)]  # fmt: skip
