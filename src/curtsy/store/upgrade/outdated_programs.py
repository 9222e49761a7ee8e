"""Keeps a migration that older programs do not survive from those that are up."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress

from curtsy.errors import StoreAway, StoreFull, UpgradeWaits
from curtsy.logs import logger
from curtsy.store.connection import Connection
from curtsy.store.dialects import Statement
from curtsy.store.programs import LiveProgram, live_programs, too_old
from curtsy.store.store import Store
from curtsy.store.upgrade.plan import Migration
from curtsy.store.version import BEFORE_IT, FIRST_THAT_DECLARES, oldest_program_in, version_in

log = logger("store")

END_SECONDS = 60.0
"""How long a forced upgrade waits for processes that end by themselves."""
LOOK_SECONDS = 0.2
SHOWN = 5
_ANNOUNCE = Statement(
    """
    INSERT INTO schema_support (revision, oldest_program) VALUES (:revision, :oldest)
    ON CONFLICT (revision) DO NOTHING
    """
)
_WITHDRAW = Statement(
    """
    DELETE FROM schema_support WHERE revision > (SELECT max(version_num) FROM alembic_version)
    """
)


async def refuse_outdated(store: Store, migrations: Sequence[Migration]) -> None:
    """Raises `UpgradeWaits` if a live process cannot work with the result of the migrations."""
    oldest = max(_oldest_program(migration) for migration in migrations)
    programs = await store.read(live_programs)
    if outdated := too_old(programs, oldest):
        raise UpgradeWaits(_sentence(outdated, migrations[-1].revision, oldest))


@asynccontextmanager
async def make_way(store: Store, migration: Migration, *, force: bool) -> AsyncIterator[None]:
    """Around a migration that ends the support of older programs: announces it, so that their
    processes end and none starts, and waits for their end. Takes the announcement back if the
    migration fails. Raises `UpgradeWaits` if some do not end, unless forced."""
    oldest = _oldest_program(migration)
    if not await store.read(lambda c: _ends_support(c, migration)):
        yield
        return
    await store.write(
        lambda c: _ANNOUNCE(c, revision=migration.revision, oldest=oldest) and None, durable=True
    )
    try:
        await _ended(store, migration.revision, oldest, force=force)
        yield
    except BaseException:
        with suppress(StoreAway, StoreFull):  # the next upgrade goes on from here
            await withdraw_announcements(store)
        raise


async def withdraw_announcements(store: Store) -> None:
    """Supports again what an upgrade was to end that did not come to its migration."""
    await store.write(lambda c: _WITHDRAW(c) and None, durable=True)


async def _ended(store: Store, revision: str, oldest: str, *, force: bool) -> None:
    """Waits until processes of older programs have ended."""
    left = await _left(store, oldest)
    if left and not force:
        raise UpgradeWaits(_sentence(left, revision, oldest))
    if left:
        log.warning("upgraded_in_use", schema=revision, by=list(map(str, left)),
                    meaning="these processes may fail from now on")  # fmt: skip


async def _left(store: Store, oldest: str) -> list[LiveProgram]:
    """Waits for those that end by themselves; returns those that have not ended."""
    ends_at = time.monotonic() + END_SECONDS
    while True:
        left = too_old(await store.read(live_programs), oldest)
        if not any(program.watches for program in left) or time.monotonic() > ends_at:
            return left
        await asyncio.sleep(LOOK_SECONDS)


def _oldest_program(migration: Migration) -> str:
    if migration.oldest_program is not None:
        return migration.oldest_program
    return min(migration.revision, BEFORE_IT)  # of a time whose programs do not run any more


def _ends_support(connection: Connection, migration: Migration) -> bool:
    version = version_in(connection)
    if version is None or version < FIRST_THAT_DECLARES or version >= migration.revision:
        return False
    return _oldest_program(migration) > oldest_program_in(connection, version)


def _sentence(outdated: Sequence[LiveProgram], revision: str, oldest: str) -> str:
    more = len(outdated) - SHOWN
    said = ", ".join(map(str, outdated[:SHOWN])) + (f" and {more} more" if more > 0 else "")
    return (
        f"Schema {revision} works only with programs of schema {oldest} or newer, and older ones "
        f"are up: {said}. The database works as before. Stop them (a killed one counts until its "
        f"lease ends) or replace them by a curtsy of schema {oldest}, then try again; `curtsy db "
        "upgrade --force` asks them to end and upgrades whatever they do."
    )
