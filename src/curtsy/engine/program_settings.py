"""The settings of an engine that a program starts, and its log."""

import difflib
import os
import sys
from collections.abc import Iterable

from curtsy import logs
from curtsy.config import Settings, load
from curtsy.errors import BadSetting
from curtsy.model.masks import masked_database_url, without_credentials
from curtsy.processes.lock_file import SQLITE, UpAlready, running_process

Setting = str | int | float | bool | None
Path = str | os.PathLike[str]
QUIET = "WARNING"


def program_settings(
    database: Path | None, scrapers: Iterable[Path], settings: dict[str, Setting]
) -> Settings:
    """Loads the settings from the arguments, the environment, `.env` and `curtsy.toml`.

    Raises `BadSetting`, and `UpAlready` if `curtsy up` runs on the same file.
    """
    _require_known(settings)
    own = ",".join(_file(one) for one in _each_path(scrapers))
    found = load(
        "{}=".format,
        database_url=_url(database), scrapers=own or None,
        **{"log_level": QUIET, **settings},
    )  # fmt: skip
    _require_free(found)
    _configure_log(found)
    return found


def _require_known(settings: dict[str, Setting]) -> None:
    for name in settings:
        if name not in Settings.model_fields:
            near = difflib.get_close_matches(name, Settings.model_fields, 1)
            meant = f": did you mean {near[0]!r}?" if near else "."
            raise BadSetting(f"There is no setting {name!r}{meant}")


def _each_path(scrapers: Iterable[Path]) -> Iterable[object]:
    return [scrapers] if isinstance(scrapers, str | os.PathLike) else scrapers


def _file(scraper: object) -> str:
    if not isinstance(scraper, str | os.PathLike):
        raise BadSetting(
            f"A scraper of your own is a file, not {scraper!r:.80}: it runs in a confined process, "
            "which cannot import what your program or notebook defines. Write it to a file (in a "
            "notebook with %%writefile my_scraper.py), and pass scrapers=['my_scraper.py']."
        )
    return os.fspath(scraper)


def _url(database: Path | None) -> str | None:
    if database is None:
        return None
    text = os.fspath(database)
    return text if "://" in text else f"{SQLITE}{text}"


def _require_free(settings: Settings) -> None:
    """Beside a service, pages of this program would be fetched by its settings or ours, and its
    scrapers may not be ours."""
    if not settings.database_url.startswith(SQLITE):
        return
    if (process := running_process(settings)) is not None:
        where = masked_database_url(settings.database_url)
        raise UpAlready(
            f"curtsy is up already on {where} (process {process}). Use that one with "
            "`curtsy.Client()`, end it with `curtsy stop`, or name another file with database=."
        )


def _configure_log(settings: Settings) -> None:
    """Lines go to stderr, warnings only. A program that has configured structlog keeps that."""
    structlog = sys.modules.get("structlog")
    if structlog is not None and structlog.is_configured():
        logs.CONFIGURATION.level = logs.level_number(settings.log_level)
        return
    logs.configure(
        settings.log_level, settings.log_format, settings.log_file,
        clean=lambda line: without_credentials(line, settings.database_url),
    )  # fmt: skip
