"""Which programs may work with a schema, and how a process learns that it may not any more."""

import asyncio
import shutil
from pathlib import Path

import pytest
from alembic import command

from curtsy.errors import UpgradeWaits, WrongSchema
from curtsy.frontier.worker_rows import WorkerRow, register
from curtsy.processes.schema_watch import SchemaWatch
from curtsy.store import Store, version
from curtsy.store.backup import RestoreRefused, back_up, restore
from curtsy.store.programs import live_programs
from curtsy.store.schema_transaction import schema_transaction
from curtsy.store.upgrade import _config, outdated_programs, upgrade
from curtsy.store.upgrade.outdated_programs import make_way, refuse_outdated
from curtsy.store.upgrade.plan import Migration, all_migrations
from curtsy.store.version import newest, require_known_schema
from support.releases import NEXT
from support.sql import run, text

OWN = newest()
FAR = 10**15
MOVE = text("UPDATE alembic_version SET version_num = :version")
SAY = text("INSERT INTO schema_support (revision, oldest_program) VALUES (:revision, :oldest)")
SAID = text("SELECT revision, oldest_program FROM schema_support ORDER BY revision")
FORGET = text("UPDATE workers SET program_schema = NULL")
SCHEDULER = text("""
    INSERT INTO schedulers (id, machine, pid, program, program_schema, started_at, ticked_at)
    VALUES (:id, 'there', :pid, 'curtsy 9', '0020', 1, :at)""")
FIRST = Migration("0014", "0013", ())
EXPAND, CONTRACT = Migration(NEXT, "0013", ()), Migration(NEXT, NEXT, ())


async def is_at(store: Store, version: str, oldest: str | None) -> None:
    """An upgrade by a newer program."""
    await store.write(lambda c: run(c, MOVE, {"version": version}) and None)
    if oldest is not None:
        await store.write(lambda c: run(c, SAY, {"revision": version, "oldest": oldest}) and None)


async def support_of(store: Store) -> dict[str, str]:
    return dict(await store.read(lambda c: [tuple(row) for row in run(c, SAID)]))


async def test_an_upgrade_stores_what_each_migration_declares(empty_url: str) -> None:
    async with Store(empty_url) as store:
        await schema_transaction(store, lambda c: command.upgrade(_config(c), "0013"))
        assert await upgrade(store) == ("0013", OWN)
        declared = {m.revision: m.oldest_program for m in all_migrations() if m.oldest_program}
        assert await support_of(store) == declared
        assert declared[OWN] == "0013"


async def test_a_newer_schema_that_supports_this_program_is_as_good(store: Store) -> None:
    await is_at(store, NEXT, OWN)
    await require_known_schema(store)
    assert await upgrade(store) == (NEXT, NEXT), "nothing to do"


@pytest.mark.parametrize("oldest", [NEXT, None], ids=["another", "nothing said"])
async def test_a_newer_schema_that_does_not_is_refused(store: Store, oldest: str | None) -> None:
    await is_at(store, NEXT, oldest)
    for work in (require_known_schema, upgrade):
        with pytest.raises(WrongSchema, match=f"only with programs of schema {NEXT} or newer"):
            await work(store)


async def test_an_older_schema_is_refused_until_it_is_upgraded(store: Store) -> None:
    await is_at(store, "0013", None)
    with pytest.raises(WrongSchema, match=r"has schema 0013, .* Run `curtsy db upgrade`"):
        await require_known_schema(store)


async def test_a_process_ends_once_when_its_schema_goes(store: Store) -> None:
    called: list[bool] = []
    watch = SchemaWatch(store, lambda: called.append(True))
    assert await watch.step() > 0
    watch.check()
    await is_at(store, NEXT, NEXT)
    await watch.step()
    await watch.step()
    assert called == [True]
    with pytest.raises(WrongSchema):
        watch.check()


async def worker(store: Store, name: str, *, schema: str | None, until: int = FAR) -> None:
    row = WorkerRow(name, "here", 7, "curtsy 1; process 1 of 2 under 3", schema=schema)
    await store.write(lambda c: register(c, row, lease_until=until, now=1))


async def test_the_live_programs_are_those_whose_lease_and_heartbeat_have_not_ended(
    store: Store,
) -> None:
    await worker(store, "w_1", schema=OWN)
    await worker(store, "w_2", schema=None)
    await worker(store, "w_dead", schema="0013", until=1)
    for number, at in enumerate((FAR, 1)):
        values = {"id": f"s_{number}", "pid": number, "at": at}
        await store.write(lambda c: run(c, SCHEDULER, values) and None)  # noqa: B023
    found = await store.read(live_programs)
    assert [(p.kind, p.id, p.program, p.schema, p.watches) for p in found] == [
        ("worker", "w_1", "curtsy 1", OWN, True),
        ("worker", "w_2", "curtsy 1", "0013", False),
        ("scheduler", "s_0", "curtsy 9", "0020", True),
    ]
    assert str(found[0]) == f"worker 7 on here (curtsy 1, schema {OWN})"


async def test_programs_of_the_release_before_are_known_on_its_schema(empty_url: str) -> None:
    async with Store(empty_url) as store:
        await schema_transaction(store, lambda c: command.upgrade(_config(c), "0013"))
        insert = text("INSERT INTO workers (id, beat, lease_until, machine, pid, program, "
                      "started_at) VALUES ('w', 0, :far, 'here', 7, 'curtsy 0', 1)")  # fmt: skip
        await store.write(lambda c: run(c, insert, {"far": FAR}) and None)
        assert [p.schema for p in await store.read(live_programs)] == ["0013"]
        await refuse_outdated(store, [FIRST, EXPAND])
        with pytest.raises(UpgradeWaits, match=r"worker 7 on here \(curtsy 0, schema 0013\)"):
            await refuse_outdated(store, [FIRST, Migration(NEXT, OWN, ())])


async def test_only_a_migration_that_ends_support_has_to_wait(store: Store) -> None:
    await worker(store, "w_1", schema=OWN)
    before = await support_of(store)
    await refuse_outdated(store, [EXPAND])
    async with make_way(store, EXPAND, force=False):
        assert await support_of(store) == before
    with pytest.raises(UpgradeWaits, match=f"worker 7 on here .*curtsy of schema {NEXT}, then"):
        await refuse_outdated(store, [EXPAND, CONTRACT])


async def test_a_process_ends_before_its_support_does(store: Store) -> None:
    """The announcement ends it; the migration waits until it has gone."""
    await worker(store, "w_1", schema=OWN)
    ended = asyncio.Event()
    watch = SchemaWatch(store, ended.set)

    async def process() -> None:
        while not ended.is_set():
            await watch.step()
            await asyncio.sleep(0)
        await store.write(lambda c: run(c, text("DELETE FROM workers")) and None)

    async with asyncio.TaskGroup() as group:
        group.create_task(process())
        async with make_way(store, CONTRACT, force=False):
            assert ended.is_set()
            assert await store.read(live_programs) == []


async def test_a_migration_that_fails_ends_no_support(store: Store) -> None:
    before = await support_of(store)

    async def fail() -> None:
        async with make_way(store, CONTRACT, force=False):
            assert await support_of(store) == before | {NEXT: NEXT}
            raise UpgradeWaits("no lock")

    with pytest.raises(UpgradeWaits):
        await fail()
    assert await support_of(store) == before
    await require_known_schema(store)


async def test_whoever_does_not_end_stops_the_upgrade_unless_it_is_forced(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outdated_programs, "END_SECONDS", 0.1)
    await worker(store, "w_1", schema=OWN)
    with pytest.raises(UpgradeWaits, match="worker 7 on here"):
        async with make_way(store, CONTRACT, force=False):
            raise AssertionError("the migration was run")
    await require_known_schema(store)
    async with make_way(store, CONTRACT, force=True):
        pass


@pytest.mark.parametrize(("oldest", "is_taken"), [(OWN, True), (NEXT, False), (None, False)])
async def test_a_backup_of_a_newer_schema_is_restored_where_it_supports_this_program(
    sqlite_template: Path, tmp_path: Path, oldest: str | None, is_taken: bool
) -> None:
    shutil.copy(sqlite_template, tmp_path / "newer.db")
    async with Store(f"sqlite:///{tmp_path / 'newer.db'}") as store:
        await is_at(store, NEXT, oldest)
    back_up(tmp_path / "newer.db", tmp_path / "copy.db", replace=False)
    if is_taken:
        assert restore(tmp_path / "copy.db", tmp_path / "curtsy.db", replace=False) == NEXT
        return
    with pytest.raises(RestoreRefused, match=f"works with programs of schema {NEXT} or newer"):
        restore(tmp_path / "copy.db", tmp_path / "curtsy.db", replace=False)
    assert not (tmp_path / "curtsy.db").exists()


async def test_tables_that_a_restored_backup_left_are_named(empty_url: str) -> None:
    """As `pg_restore` does: it replaces what the backup has, and leaves the rest."""
    async with Store(empty_url) as store:
        await schema_transaction(store, lambda c: command.upgrade(_config(c), "0018"))
        made = text("CREATE TABLE schema_support (revision TEXT)")
        await store.write(lambda c: run(c, made) and None)
        with pytest.raises(UpgradeWaits, match=r"left: schema_support\. .*`DROP TABLE schema_supp"):
            await upgrade(store)
        await store.write(lambda c: run(c, text("DROP TABLE schema_support")) and None)
        assert await upgrade(store) == ("0018", OWN)


async def test_an_upgrade_that_was_killed_can_be_ended_or_taken_back(store: Store) -> None:
    """Of the one that ended the support of this program, and did not come to its migration."""
    values = {"revision": NEXT, "oldest": NEXT}
    await store.write(lambda c: run(c, SAY, values) and None)
    with pytest.raises(WrongSchema, match=f"from schema {OWN} to {NEXT} has begun and not ended"):
        await require_known_schema(store)
    assert await upgrade(store) == (OWN, OWN)
    await require_known_schema(store)


def test_a_process_stays_what_it_is_when_another_version_is_installed_over_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "versions").mkdir()
    (tmp_path / "versions/9999_of_another_version.py").touch()
    monkeypatch.setattr(version, "MIGRATIONS", tmp_path)
    assert newest() == OWN
