"""Checks that the local database file exists."""

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from curtsy.errors import NoDatabase

if TYPE_CHECKING:
    from curtsy.config import Settings

SQLITE = "sqlite:///"


def require_file(settings: "Settings") -> None:
    """Raises `NoDatabase` for a SQLite file that does not exist: reads do not create one."""
    url = settings.database_url
    if url.startswith(SQLITE):
        path = Path(url.removeprefix(SQLITE)).absolute()
        with suppress(PermissionError):  # who opens the database says so
            if not path.exists():
                raise NoDatabase(str(path))
