"""A duty that usually has a schedule, done at once."""

from curtsy.config import Settings
from curtsy.maintenance.tasks import Duties
from curtsy.processes.startup import ready


async def do_now(duty: str, settings: Settings, *, keep_days: int) -> str:
    """A sentence about what it did."""
    async with ready(settings, upgrades_sqlite=True) as (store, clock):
        return await Duties(store=store, clock=clock, keep_days=keep_days).by_name()[duty]()
