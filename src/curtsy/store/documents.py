"""Documents carry bytes, which do not travel as rows of JSON: they go in by the driver's batch."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, insert

from curtsy.store.schema import documents

_INSERT = insert(documents)


def insert_documents(connection: Connection, rows: Sequence[dict[str, Any]]) -> None:
    if rows:
        connection.execute(_INSERT, rows)
