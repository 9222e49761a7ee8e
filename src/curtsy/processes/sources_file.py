"""The file of sources takes effect when a process starts."""

from curtsy.clock import Clock
from curtsy.config import Settings, milliseconds, whole_policy
from curtsy.config.sources_file import Sections
from curtsy.frontier.source_policy import Surroundings
from curtsy.logs import logger
from curtsy.sources.file import Applied, apply_file
from curtsy.store import Store

log = logger("app")


async def apply_sources(
    settings: Settings, described: Sections | None, store: Store, clock: Clock
) -> None:
    """In one transaction; any number of processes may do so. Without a file nothing changes."""
    if described is None:
        return
    defaults, lease_ttl = whole_policy(settings), milliseconds(settings.lease_seconds)
    applied: Applied = await store.write(
        lambda c: apply_file(c, described, Surroundings(defaults, lease_ttl, clock.now())),
        durable=True,
    )
    if applied.described or applied.forgotten:
        log.info("sources_applied", file=settings.sources_file, described=applied.described,
                 forgotten=applied.forgotten)  # fmt: skip
