"""What every process does first: a database that can be used, with the schema it needs."""

import asyncio
import gc
import os
import resource
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from curtsy.clock import Clock
from curtsy.config import Settings
from curtsy.errors import BadSetting
from curtsy.extract.confinement import make_undumpable
from curtsy.extract.inspection import inspect_scrapers
from curtsy.frontier.clock_sync import synchronise
from curtsy.logs import logger
from curtsy.scrapers.registry import OwnScrapers
from curtsy.store import Store
from curtsy.store.version import newest, require_known_schema, stored_version

log = logger("app")

SQLITE = "sqlite:///"
CLOSE_WITHIN_SECONDS = 5.0


@asynccontextmanager
async def opened(settings: Settings) -> AsyncIterator[Store]:
    """The store, whatever its schema. A database that hangs does not hold up the end."""
    check_folder(settings.database_url)
    _allow_many_files()
    collect_garbage_less_often()
    closing = AsyncExitStack()
    store = Store(settings.database_url, pool_size=settings.db_pool_size)
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
    settings: Settings, *, upgrades_sqlite: bool = False
) -> AsyncIterator[tuple[Store, Clock]]:
    """The store with the schema that this program knows, and a clock in step with it."""
    async with opened(settings) as store:
        if upgrades_sqlite and store.is_sqlite and await stored_version(store) != newest():
            await _upgrade(store)
        await require_known_schema(store)
        clock = Clock()
        await synchronise(store, clock)
        yield store, clock


async def _upgrade(store: Store) -> None:
    from curtsy.store.upgrade import upgrade  # with Alembic, which takes long to import

    before, after = await upgrade(store)
    if before != after:
        log.info("schema_upgraded", before=before, after=after)


def own_scrapers(settings: Settings) -> OwnScrapers:
    """What SCRAPERS and installed packages have. Raises `BadSetting` where one cannot be used.

    It waits for a process that imports them: to be called before anybody waits for this one. Where
    there are some, they do not get to see what this process was told.
    """
    found = inspect_scrapers([file for file in settings.scrapers.split(",") if file])
    if found.names:
        make_undumpable()
    return found


def _allow_many_files() -> None:
    """Each open request is a file to the system, and the usual limit is soon reached."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def collect_garbage_less_often() -> None:
    """Pages and jobs make many short-lived objects and few cycles: measured, a tenth of all time
    went into looking for cycles among objects that were about to go anyway."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 100)


def check_folder(url: str) -> None:
    if not url.startswith(SQLITE):
        return
    path = Path(url.removeprefix(SQLITE)).absolute()
    if path.is_dir():
        raise BadSetting(f"DATABASE_URL names {path}, which is a folder: name a file in it.")
    if not path.parent.is_dir():
        raise BadSetting(f"DATABASE_URL names {path}: the folder {path.parent} does not exist.")
    # the folder too: SQLite writes its log beside the file
    places = [place for place in (path.parent, path) if place.exists()]
    as_we_are = os.access in os.supports_effective_ids
    refusing = [p for p in places if not os.access(p, os.W_OK, effective_ids=as_we_are)]
    if refusing:
        raise BadSetting(f"DATABASE_URL names {path}: {refusing[0]} cannot be written to.")
    if path.exists() and not _is_sqlite(path):
        raise BadSetting(f"DATABASE_URL names {path}, which is a file of another kind.")


def _is_sqlite(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(16) in (b"", b"SQLite format 3\0")
