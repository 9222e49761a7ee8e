"""Pace, bursts and hourly limits hold while workers are killed, paused and added."""

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from chaos.conftest import PATIENT_LEASE
from chaos.hard_day import FEW_SLOTS, HOSTS, hard_day, most_of_a_host, repeated, too_many
from chaos.reckoning import too_soon
from chaos.server import Server
from chaos.world import World, said, world
from curtsy.demo.process import PracticeProcess
from support.engine import until
from support.postgres import TEMPLATE
from support.processes import Fleet
from support.proxy import Proxy

TELL = "SELECT id, owner, epoch FROM sources"
PER_HOUR, BURST = 3_600, 5
AN_HOURS_WORTH = 12
DAYS, ENOUGH_SECONDS = 6, 5.0
ENOUGH = 20
"""Connections: those on which nothing arrives keep nobody waiting for one."""


async def seen(made: World, number: int) -> bool:
    return len(made.entries()) >= number


async def test_one_killed_one_paused_one_added_and_no_two_starts_too_close(
    database_url: str, practice: PracticeProcess, folder: Path
) -> None:
    with Fleet(folder, database_url, min_delay_seconds=0.25, **FEW_SLOTS) as fleet:
        async with world(database_url, fleet, practice) as made:
            day = await hard_day(made, made.pages(HOSTS, 24, plain=True))
            reckoning = await made.reckoning(60)
            again = repeated(made.entries())
            print(f"{reckoning}; {len(again)} asked again")
            assert reckoning.violations == []
            assert reckoning.unrecorded == len(again)
            buried = [name for said in fleet.logged("worker_died") for name in said["workers"]]
            assert len(buried) >= 2, "one was killed, one beyond its lease"
            assert [entry for entry in again if not day.explains(entry)] == []
            assert fleet.crashes() == []


@pytest.fixture
def databases(postgres: Server) -> Iterator[list[str]]:
    """One for each day."""
    made = [postgres.create_database(TEMPLATE) for _ in range(DAYS)]
    yield made
    for url in made:
        postgres.drop_database(url)


async def test_the_same_is_noticed_where_the_paused_one_goes_on_as_if_nothing_had_happened(
    databases: list[str], practice: PracticeProcess, folder: Path
) -> None:
    """It goes on until it tells of what it did: whether it meets another is left to chance."""
    for day, url in enumerate(databases):
        (folder / f"{day}").mkdir()
        with Fleet(folder / f"{day}", url, min_delay_seconds=0.25, **FEW_SLOTS) as fleet:
            async with world(url, fleet, practice) as made:
                with suppress(AssertionError):  # it may have died before its time
                    await hard_day(made, made.pages(HOSTS, 200, plain=True),
                                   without="trust,hearing")  # fmt: skip
                    await made.hosts_asked_too_soon(ENOUGH_SECONDS)
                    return
    pytest.fail(f"On none of {DAYS} days was a host asked too soon.")


async def test_bursts_and_the_spread_of_an_hour_hold_when_workers_are_killed_and_paused(
    database_url: str, practice: PracticeProcess, folder: Path
) -> None:
    policy = {"requests_per_hour": PER_HOUR, "burst_limit": BURST, "min_delay": 100}
    with Fleet(folder, database_url, min_delay_seconds=0.1, **FEW_SLOTS) as fleet:
        async with world(database_url, fleet, practice) as made:
            # for half a minute: a slow machine needs long until each of three workers has a share
            urls = made.pages(HOSTS, 30, plain=True)
            day = await hard_day(made, urls, policy=json.dumps(policy))
            reckoning = await made.reckoning(60)
            entries = made.entries()
            print(f"{reckoning}; {len(repeated(entries))} asked again")
            assert reckoning.violations == []
            assert list(too_many(entries, made.departures, per_hour=PER_HOUR, burst=BURST)) == []
            assert [entry for entry in repeated(entries) if not day.explains(entry)] == []
            assert fleet.crashes() == []


@pytest.mark.parametrize("without", [None, "worst"])
async def test_who_takes_over_from_the_dead_assumes_the_worst_or_goes_beyond_the_hours_limit(
    postgres_url: str, practice: PracticeProcess, folder: Path, without: str | None
) -> None:
    """Nothing of what the first one did was told when it died."""
    policy = {"requests_per_hour": AN_HOURS_WORTH, "burst_limit": AN_HOURS_WORTH, "min_delay": 100}
    with Fleet(folder, postgres_url, lease_seconds=PATIENT_LEASE) as fleet:
        async with Proxy(postgres_url) as proxy, world(postgres_url, fleet, practice) as made:
            proxy.hold(TELL)
            await made.submit(made.pages(HOSTS, 40, plain=True))
            await made.execute(f"UPDATE sources SET policy = '{json.dumps(policy)}'")
            first = fleet.worker(database_url=proxy.url, db_pool_size=ENOUGH)
            await said(first, "worker_started")
            await until(lambda: seen(made, HOSTS * AN_HOURS_WORTH // 2), 60, first.tail)
            first.kill()
            await said(fleet.worker(without=without), "worker_started")
            in_ten_minutes = made.clock.now() + 600_000
            await made.reaches("SELECT count(*) FROM sources WHERE owner IS NULL "
                               f"AND next_fetch_at > {in_ten_minutes}", HOSTS, 40)  # fmt: skip
            most = most_of_a_host(made.entries())
            print(f"without {without}: a host was asked {most} times within the hour")
            assert (most > AN_HOURS_WORTH) == (without is not None)
            assert too_soon(made.entries(), fleet.delay, made.departures) == []
