"""Tables, engines and transactions. The only package that uses SQLAlchemy."""

from sqlalchemy import Connection

from curtsy.store.dialects import Lookup, Statement
from curtsy.store.store import Store

__all__ = ["Connection", "Lookup", "Statement", "Store"]
