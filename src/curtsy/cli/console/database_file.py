"""Checks that the local database file exists."""

from pathlib import Path
from typing import TYPE_CHECKING

from curtsy.errors import CurtsyError

if TYPE_CHECKING:
    from curtsy.config import Settings

SQLITE = "sqlite:///"


class NoDatabase(CurtsyError):
    code = "no_database"

    def __init__(self, path: Path) -> None:
        super().__init__(
            f"There is no database {path}: go to the folder that has one, or create one with "
            "`curtsy up`, `curtsy submit` or `curtsy db upgrade`."
        )


def require_file(settings: "Settings") -> None:
    """Raises `NoDatabase` for a SQLite file that does not exist: reads do not create one."""
    url = settings.database_url
    if url.startswith(SQLITE):
        path = Path(url.removeprefix(SQLITE)).absolute()
        if not path.exists():
            raise NoDatabase(path)
