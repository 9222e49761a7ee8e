"""Documents: the one table whose rows carry bytes."""

from collections.abc import Sequence
from typing import Any

from curtsy.store import Connection, Statement
from curtsy.store.dialects import Sqlite

_INSERT = Statement(
    """
    INSERT INTO documents (page_id, version, content, hash, content_type, charset, status, url,
                           bytes, fetched_at)
    SELECT page_id, version, content, hash, content_type, charset, status, url, bytes, fetched_at
    FROM {made} WHERE true
    """,
    made={"page_id": "bigint", "version": "int", "content": "bytea", "hash": "text",
          "content_type": "text", "charset": "text", "status": "smallint", "url": "text",
          "bytes": "bigint", "fetched_at": "bigint"},
)  # fmt: skip


def insert_documents(connection: Connection, rows: Sequence[tuple[Any, ...]]) -> None:
    """Rows with these columns, in this order."""
    for start in range(0, len(rows), Sqlite.MOST_VALUES):  # bytes cannot travel in JSON
        _INSERT(connection, made=rows[start : start + Sqlite.MOST_VALUES])
