"""A database with data in it is brought up to date, and means what it meant."""

import asyncio
from typing import Any

import orjson

from curtsy.history.facts import batch_call
from curtsy.history.fold import fold_totals
from curtsy.maintenance.timetable import create_timetable
from curtsy.model.urls import fingerprint
from curtsy.store import Connection, Store
from curtsy.store.schema_transaction import schema_transaction
from curtsy.store.upgrade import differences, schema_steps, upgrade
from curtsy.store.upgrade.plan import all_migrations
from curtsy.timetable import Cron, to_json
from support.sql import run, text

RULE = to_json(Cron("@daily"))
HOURLY = {"search_url": "https://a.example/", "interval_minutes": 60}
BY_HAND = {"search_url": "https://a.example/"}
RUN = {"run": {"site_name": "x"}}
CRAWL: dict[str, Any] = {"spider": "raw", "start_urls": ["https://a.example/é"]}
SITE = text("""
    INSERT INTO sites (id, name, declared, created_at, updated_at)
    VALUES (:id, :name, :declared, 1, 1)""")
SCHEDULE = text("""
    INSERT INTO schedules (id, public_id, name, owner, rule, payload, window_ms, site_id,
                           described_as, created_at, updated_at)
    VALUES (:id, :public_id, :name, :owner, :rule, :payload, 1, :site, :file, 1, 1)""")
FIRING = text("""
    INSERT INTO firings (schedule_id, fire_at, fired_at, trigger, outcome)
    VALUES (1, 1, 2, 'schedule', 'fired')""")
KEPT = text("SELECT name, owner, of_site, payload FROM schedules ORDER BY id")
WAITED = text("SELECT waited FROM firings")


async def upgrade_to(store: Store, version: str) -> None:
    known = [one for one in all_migrations() if one.revision <= version]
    await schema_transaction(store, lambda c: schema_steps._all(c, known))


def _as_of_0008(connection: Connection) -> None:
    for number, (name, declared) in enumerate((("own", HOURLY), ("by_hand", BY_HAND)), 1):
        said = {"id": number, "name": name, "declared": orjson.dumps(declared).decode()}
        run(connection, SITE, said)
    rows: list[tuple[str, str, Any, int | None, str | None]] = [
        ("own", "", RUN, 1, None),
        ("by_hand", "", RUN, 2, None),
        ("own", "ann", RUN, 1, None),
        ("another", "", RUN, 1, None),
        ("file", "", RUN, 1, "hash"),
        ("crawl", "", {"crawl": CRAWL | {"timezone": "Europe/Oslo"}}, None, None),
    ]
    for number, (name, owner, payload, site, file) in enumerate(rows, 1):
        said = {"id": number, "name": name, "owner": owner, "rule": RULE, "site": site,
                "payload": orjson.dumps(payload).decode(), "file": file}  # fmt: skip
        run(connection, SCHEDULE, said | {"public_id": f"sch_{number}"})
    run(connection, FIRING)


def test_schedules_of_sites_are_known_as_such_and_no_others(empty_url: str) -> None:
    async def upgraded() -> tuple[list[Any], list[Any], list[str]]:
        async with Store(empty_url) as store:
            await upgrade_to(store, "0008")
            await store.write(_as_of_0008)
            await upgrade(store)
            schedules = await store.read(lambda c: list(run(c, KEPT)))
            firings = await store.read(lambda c: list(run(c, WAITED).scalars()))
            return schedules, firings, await differences(store)

    schedules, firings, wrong = asyncio.run(upgraded())
    assert [(row.name, row.owner) for row in schedules if row.of_site] == [("own", "")]
    assert [bool(waited) for waited in firings] == [False]
    assert orjson.loads(schedules[-1].payload) == {"crawl": CRAWL}, "a zone that meant nothing"
    assert wrong == []


def _as_of_0011(connection: Connection) -> None:
    for number, url in enumerate(SPELLINGS, 1):
        run(connection, PAGE, {"id": number, "url": url, "fp": fingerprint(url, "raw")})
        run(connection, ITEM, {"id": number, "url": None})
    run(connection, ITEM, {"id": 101, "url": "as given"})


SPELLINGS = [
    "http://a.example/~both", "http://a.example/%7eboth", "http://a.example/%7eold",
    "http://a.example/%7Eold", "http://a.example/?q=%c3", "http://a.example/plain",
    "http://a.example/%2F%zz", "not a url %7e",
]  # fmt: skip
PAGE = text("""
    INSERT INTO pages (id, fingerprint, url, host, scraper, created_at)
    VALUES (:id, :fp, :url, 'a.example', 'raw', 1)""")
ITEM = text("""
    INSERT INTO items (job_id, position, page_id, state, url, priority)
    VALUES (1, :id, :id % 100, 1, :url, 5)""")
PAGES = text("SELECT id, url, fingerprint FROM pages ORDER BY id")
SHOWN = text("""
    SELECT i.position, coalesce(i.url, p.url) AS url FROM items i JOIN pages p ON p.id = i.page_id
    ORDER BY i.position""")


def test_old_pages_are_found_under_their_new_spelling_and_shown_as_submitted(
    empty_url: str,
) -> None:
    async def upgraded() -> tuple[list[Any], list[Any]]:
        async with Store(empty_url) as store:
            await upgrade_to(store, "0011")
            await store.write(_as_of_0011)
            await upgrade(store)
            pages = await store.read(lambda c: list(run(c, PAGES)))
            return pages, await store.read(lambda c: list(run(c, SHOWN)))

    pages, shown = asyncio.run(upgraded())
    assert [row.url for row in pages] == [
        "http://a.example/~both", "http://a.example/%7eboth", "http://a.example/%7eold",
        "http://a.example/~old", "http://a.example/?q=%C3", "http://a.example/plain",
        "http://a.example/%2F%zz", "not a url %7e",
    ]  # fmt: skip
    assert all(row.fingerprint == fingerprint(row.url, "raw") for row in pages)
    assert [row.url for row in shown[:-1]] == SPELLINGS
    assert shown[-1].url == "as given"


LETTER = text("""
    INSERT INTO dead_letters (id, page_id, turn, source_id, kind, family, error, attempts, state,
                              created_at)
    VALUES (:id, :page, :id, 1, 'dns', 'network', :error, 1, :state, :id)""")
LETTERS = text("SELECT id, state, times, created_at, last_failed_at, final FROM dead_letters "
               "ORDER BY id")  # fmt: skip


def test_open_dead_letters_of_one_page_become_one_with_a_count(empty_url: str) -> None:
    def as_of_0011(connection: Connection) -> None:
        for number, (page, state) in enumerate(
            [(1, "open"), (2, "open"), (1, "retried"), (1, "open"), (1, "open")], 1
        ):
            error = "There is no host named a.example." if page == 2 else "No answer."
            said = {"id": number, "page": page, "state": state, "error": error}
            run(connection, LETTER, said)

    async def upgraded() -> tuple[list[Any], list[str]]:
        async with Store(empty_url) as store:
            await upgrade_to(store, "0011")
            await store.write(as_of_0011)
            await upgrade(store)
            return await store.read(lambda c: list(run(c, LETTERS))), await differences(store)

    letters, different = asyncio.run(upgraded())
    assert different == []
    assert [(r.id, r.state, r.times, r.created_at, r.last_failed_at) for r in letters] == [
        (1, "resolved", 1, 1, 1), (2, "open", 1, 2, 2), (3, "retried", 1, 3, 3),
        (4, "resolved", 1, 4, 4), (5, "open", 3, 1, 5),
    ]  # fmt: skip
    assert [row.id for row in letters if row.final] == [2]


WORKER = text("""
    INSERT INTO workers (id, beat, lease_until, machine, pid, program, started_at)
    VALUES ('w_old', 7, 1, 'here', 1, 'curtsy', 1)""")
WORKERS = text("SELECT id, beat, memory_bytes FROM workers")


def test_the_memory_of_a_worker_that_lived_before_the_upgrade_is_unknown(empty_url: str) -> None:
    async def upgraded() -> tuple[list[Any], list[str]]:
        async with Store(empty_url) as store:
            await upgrade_to(store, "0017")
            await store.write(lambda c: run(c, WORKER))
            await upgrade(store)
            return await store.read(lambda c: list(run(c, WORKERS))), await differences(store)

    workers, different = asyncio.run(upgraded())
    assert different == []
    assert [tuple(row) for row in workers] == [("w_old", 7, None)]


def test_what_happens_after_the_upgrade_is_counted(empty_url: str) -> None:
    """The only row of `history_state`, its lock, is there."""

    async def upgraded() -> tuple[int, list[str]]:
        async with Store(empty_url) as store:
            await upgrade_to(store, "0013")
            await upgrade(store)
            statement, values = batch_call([(1, 1, 2, 0, None, 1, 5, 5, 0, 0, 0, 0, 0)], at=60_000)
            await store.write(lambda c: statement(c, **values) and None)
            batches = await store.write(lambda c: fold_totals(c, now=60_000))
            return batches, await differences(store)

    assert asyncio.run(upgraded()) == (1, [])


OFFERS = text("SELECT name FROM offers ORDER BY name")
NAMES = text("SELECT name FROM schedules ORDER BY id")


def test_a_database_from_before_the_timetable_gets_it_beside_its_own_schedules(
    empty_url: str,
) -> None:
    """But none for a task that it schedules already."""

    def as_of_0016(connection: Connection) -> None:
        payload = orjson.dumps({"duty": "cleanup"}).decode()
        run(connection, SCHEDULE, {"id": 99, "public_id": "sch_1", "name": "tidy", "owner": "ann",
                                   "rule": RULE, "payload": payload, "site": None,
                                   "file": None})  # fmt: skip

    async def upgraded() -> tuple[list[str], list[str], list[str]]:
        async with Store(empty_url) as store:
            await upgrade_to(store, "0016")
            await store.write(as_of_0016)
            await upgrade(store)
            tasks = ("dead_letters", "cleanup")
            await store.write(lambda c: create_timetable(c, tasks, now=1))
            return (await store.read(lambda c: run(c, NAMES).scalars()),
                    await store.read(lambda c: run(c, OFFERS).scalars()),
                    await differences(store))  # fmt: skip

    names, offers, wrong = asyncio.run(upgraded())
    assert sorted(names) == ["maintenance:dead_letters", "tidy"]
    assert offers == ["cleanup", "dead_letters"]
    assert wrong == []
