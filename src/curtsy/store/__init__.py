"""Tables, engines and transactions. The only package that uses the drivers, and SQLAlchemy for
migrations."""

from curtsy.store.connection import Connection, savepoint
from curtsy.store.dialects import Call, Lookup, Statement, together
from curtsy.store.result import Result
from curtsy.store.store import Store

__all__ = ["Call", "Connection", "Lookup", "Result", "Statement", "Store", "savepoint", "together"]
