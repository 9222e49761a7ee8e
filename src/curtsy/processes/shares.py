"""Divides what the settings allow one worker among the processes of one command."""

from collections.abc import Iterator
from dataclasses import dataclass

from curtsy.config import Settings, worker_settings
from curtsy.config.validators import cores
from curtsy.logs import logger

log = logger("app")

FEWEST_CONNECTIONS = 4
"""A worker leases, reads visits, flushes and looks for news at the same time."""
STOP_SLACK_SECONDS = 15.0
"""Beyond the drain of a worker: for its row, its scrapers and its connections."""


@dataclass(frozen=True, slots=True)
class Share:
    """What one of several worker processes gets."""

    slots: int
    extract_processes: int
    connections: int

    def applied_to(self, settings: Settings) -> Settings:
        """The settings of a process with this share."""
        return settings.model_copy(update={
            "worker_processes": 1, "worker_slots": self.slots,
            "extract_processes": self.extract_processes, "db_pool_size": self.connections,
        })  # fmt: skip


def shares(settings: Settings) -> list[Share]:
    """Divides slots, parsing processes and connections among `worker_processes` workers, or among
    fewer: each worker has a slot. Together they have exactly the slots of the settings."""
    number = min(settings.worker_processes, settings.worker_slots)
    slots, more = divmod(settings.worker_slots, number)
    parsing = -(-settings.extract_processes // number)
    fewest = min(FEWEST_CONNECTIONS, settings.db_pool_size)
    connections = max(fewest, -(-settings.db_pool_size // number))
    return [Share(slots + (place < more), parsing, connections) for place in range(number)]


def remarks(settings: Settings, *, cores: int) -> Iterator[str]:
    """Sentences about processes that are fewer than the settings say, or more than is good."""
    asked, number = settings.worker_processes, len(shares(settings))
    if number < asked:
        start = "starts" if number == 1 else "start"
        yield (f"{number} of {asked} worker processes {start}: each needs a slot, and "
               f"WORKER_SLOTS is {settings.worker_slots}.")  # fmt: skip
    if number > cores:
        yield (f"{number} worker processes share {cores} cores: each page costs more processor "
               f"time then than with {cores}.")  # fmt: skip


def log_remarks(settings: Settings) -> None:
    for sentence in remarks(settings, cores=cores()):
        log.warning("worker_processes", meaning=sentence)


def longest_stop(settings: Settings) -> float:
    """Seconds that a worker process needs at most to end in order."""
    return worker_settings(settings).drain_seconds + STOP_SLACK_SECONDS
