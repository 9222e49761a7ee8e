"""Documents carry bytes, which cannot travel in JSON: on SQLite they go in one by one."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, insert

from curtsy.store.dialects import Postgres, Statement
from curtsy.store.schema import documents

_INSERT_ONE = insert(documents)
_INSERT_ALL = Statement(
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


def insert_documents(connection: Connection, rows: Sequence[dict[str, Any]]) -> None:
    """Rows with the table's columns, in its order."""
    if not rows:
        return
    if connection.dialect.name == Postgres.name:
        _INSERT_ALL(connection, made=[tuple(row.values()) for row in rows])
    else:
        connection.execute(_INSERT_ONE, rows)
