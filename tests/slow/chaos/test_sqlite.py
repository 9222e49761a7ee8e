"""Several processes on one SQLite file."""

import asyncio
import sqlite3

from chaos.client import Client
from chaos.trouble import Trouble
from chaos.world import world
from curtsy.demo.process import PracticeProcess
from support.postgres import free_port
from support.processes import Fleet

SECONDS = 9


async def test_processes_on_one_file_lose_nothing_whoever_dies(
    file_fleet: Fleet, practice: PracticeProcess, sqlite_url: str, lasts: float | None
) -> None:
    """Two workers, an API and the test itself write to the file. Who is paused may hold its lock,
    who is killed may be within a transaction."""
    async with world(sqlite_url, file_fleet, practice) as made:
        port = free_port()
        api = file_fleet.api(port)
        for _ in range(2):
            file_fleet.worker()
        trouble = Trouble(file_fleet, made.rng, also=[api])
        pool = made.pages(60, 40)
        seconds = lasts or SECONDS
        async with Client(port) as client, asyncio.TaskGroup() as group:
            group.create_task(made.keep_busy(seconds, pool, most_waiting=800))
            await made.done(20)
            group.create_task(
                trouble.last(seconds, [trouble.kill, trouble.pause_alone], every=(0.6, 1.4))
            )
            urls = made.rng.sample(pool, 40)
            made.jobs += await asyncio.gather(*(client.submitted(url) for url in urls))
        reckoning = await made.reckoning(60)
        print(f"{reckoning}; {dict(trouble.made)}; {len(made.jobs)} jobs")
        assert reckoning.violations == []
        assert file_fleet.crashes() == file_fleet.lock_conflicts() == []
        assert sqlite_is_sound(sqlite_url)


def sqlite_is_sound(url: str) -> bool:
    connection = sqlite3.connect(url.removeprefix("sqlite:///"))
    try:
        return connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    finally:
        connection.close()
