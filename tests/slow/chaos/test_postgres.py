"""Everything at once, on PostgreSQL."""

import asyncio
import signal

from chaos.server import Server
from chaos.trouble import Trouble
from chaos.world import world
from curtsy.demo.process import PracticeProcess
from support.processes import Fleet

WORKERS = 4
SECONDS = 18


async def test_nothing_is_lost_or_counted_twice_or_asked_too_soon_whoever_dies(
    fleet: Fleet,
    practice: PracticeProcess,
    postgres: Server,
    postgres_url: str,
    lasts: float | None,
) -> None:
    """Workers killed and paused, backends terminated, the server stopped at once: all mixed."""
    async with world(postgres_url, fleet, practice) as made:
        for _ in range(WORKERS):
            fleet.worker()
        pool = made.pages(60, 60)
        trouble = Trouble(fleet, made.rng)
        faults = [trouble.kill] * 6 + [trouble.pause] * 5
        faults += [trouble.terminate(postgres, postgres_url)] * 3
        faults += [trouble.bounce(postgres, signal.SIGQUIT)]
        seconds = lasts or SECONDS
        async with asyncio.TaskGroup() as group:
            group.create_task(made.keep_busy(seconds, pool, most_waiting=1_500))
            await made.reaches("SELECT count(*) FROM attempts", 20, 20)
            group.create_task(trouble.last(seconds, faults, every=(0.4, 1.2)))
        reckoning = await made.reckoning(60)
        print(f"{reckoning}; {dict(trouble.made)}; {len(made.jobs)} jobs")
        assert reckoning.violations == []
        assert fleet.crashes() == []
