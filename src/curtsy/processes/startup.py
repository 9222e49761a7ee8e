"""The start of every process: opens the store, checks its schema, finds custom scrapers."""

import asyncio
import gc
import os
import resource
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path

from curtsy.clock import Clock
from curtsy.config import Settings
from curtsy.errors import BadSetting, NoDatabase
from curtsy.extract.confinement import make_undumpable
from curtsy.extract.inspection import inspect_scrapers
from curtsy.frontier.clock_sync import synchronise
from curtsy.logs import logger
from curtsy.scrapers.registry import OwnScrapers
from curtsy.store import Store
from curtsy.store.fresh_schema import create_schema
from curtsy.store.version import newest, require_known_schema, stored_version

log = logger("app")

SQLITE = "sqlite:///"
CLOSE_WITHIN_SECONDS = 5.0


@asynccontextmanager
async def opened(settings: Settings, *, owns_process: bool = True) -> AsyncIterator[Store]:
    """Opens the store without checking its schema. Closing has a timeout, for a database that
    hangs. In a process of others (`owns_process`) the collection of garbage stays as it is."""
    check_folder(settings.database_url)
    _allow_many_files()
    if owns_process:
        collect_garbage_less_often()
    closing = AsyncExitStack()
    store = Store(settings.database_url, pool_size=settings.db_pool_size,
                  reserve_bytes=settings.disk_reserve_bytes)  # fmt: skip
    await closing.enter_async_context(store)
    try:
        yield store
    finally:
        try:
            async with asyncio.timeout(CLOSE_WITHIN_SECONDS):
                await closing.aclose()
        except TimeoutError:
            log.warning("store_left_open", meaning="the database does not answer")


@asynccontextmanager
async def ready(
    settings: Settings, *, upgrades_sqlite: bool = False, owns_process: bool = True
) -> AsyncIterator[tuple[Store, Clock]]:
    """Opens the store, requires a schema that works with this program, and synchronises a clock
    with it."""
    if not upgrades_sqlite:
        require_file(settings.database_url)
    async with opened(settings, owns_process=owns_process) as store:
        if upgrades_sqlite and store.is_sqlite:
            await _upgrade(store)
        await require_known_schema(store)
        clock = Clock()
        await synchronise(store, clock)
        yield store, clock


async def _upgrade(store: Store) -> None:
    """Creates the tables of an empty file, or runs the migrations that an older one lacks."""
    before = after = await stored_version(store)
    if before is None:
        after = await create_schema(store)
    if after is None or after < newest():
        from curtsy.store.upgrade import upgrade  # imports Alembic, which is slow

        before, after = await upgrade(store)
    if before != after:
        log.info("schema_upgraded", before=before, after=after)


def own_scrapers(settings: Settings) -> OwnScrapers:
    """Finds the scrapers of SCRAPERS and of installed packages. Raises `BadSetting` for a scraper
    that cannot be used.

    Blocks while another process imports the scrapers, so call it before the event loop serves
    anything. No process of the same user can read this process's environment and memory.
    """
    make_undumpable()
    files, data = (
        [one for one in value.split(",") if one]
        for value in (settings.scrapers, settings.scraper_data)
    )
    return inspect_scrapers(files, data=data)


def _allow_many_files() -> None:
    """Raises the limit of open files: each open request is one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def collect_garbage_less_often() -> None:
    """Pages and jobs create many short-lived objects and few cycles: measured, a tenth of the time
    went into searching them for cycles. What the imports left is not searched at all: of 180,000
    objects 1,700 were garbage, and finding them took 75 ms."""
    gc.freeze()
    gc.set_threshold(20_000, 20, 100)


def require_file(url: str) -> None:
    """Raises `NoDatabase` for a SQLite file that does not exist; leaves to `check_folder` what else
    may be wrong."""
    if url.startswith(SQLITE):
        path = Path(url.removeprefix(SQLITE)).absolute()
        with suppress(PermissionError):
            if not path.exists():
                raise NoDatabase(str(path))


def check_folder(url: str) -> None:
    """Raises `BadSetting` for a SQLite file that cannot be used, and says why."""
    if not url.startswith(SQLITE):
        return
    path = Path(url.removeprefix(SQLITE)).absolute()
    try:
        _check_path(path)
    except PermissionError as error:
        where = Path(error.filename or path)
        sentence = f"DATABASE_URL names {path}: {where} is not readable for {_this_user()}."
        raise BadSetting(sentence) from None


def _check_path(path: Path) -> None:
    if path.is_dir():
        raise BadSetting(f"DATABASE_URL names {path}, which is a folder: name a file.")
    if not path.parent.is_dir():
        raise BadSetting(f"DATABASE_URL names {path}: the folder {path.parent} does not exist.")
    # The folder too: SQLite writes its log next to the file.
    paths = [one for one in (path.parent, path) if one.exists()]
    effective = os.access in os.supports_effective_ids
    read_only = [one for one in paths if not os.access(one, os.W_OK, effective_ids=effective)]
    if read_only:
        why = _why_not_writable(read_only[0])
        raise BadSetting(f"DATABASE_URL names {path}: {read_only[0]} is not writable{why}.")
    if path.exists() and not _is_sqlite(path):
        raise BadSetting(f"DATABASE_URL names {path}, which is not a SQLite file.")


def _why_not_writable(path: Path) -> str:
    """Names the users by number: in a container they often have no names, and whoever mounted the
    folder from outside needs the number."""
    if os.statvfs(path).f_flag & os.ST_RDONLY:
        return ": its file system is mounted read-only"
    return (
        f" for {_this_user()}; its owner is UID {path.stat().st_uid}. Change the owner: `chown "
        f"{os.geteuid()}:{os.getegid()} {path}`, for a container on the folder mounted there"
    )


def _this_user() -> str:
    return f"UID {os.geteuid()}, as which this process runs"


def _is_sqlite(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(16) in (b"", b"SQLite format 3\0")
