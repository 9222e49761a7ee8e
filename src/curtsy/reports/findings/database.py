"""Findings about the database: its clock, its space, and what holds back its upkeep."""

from collections.abc import Iterator

from curtsy.clock import MINUTE, SECOND
from curtsy.model.counts import megabytes
from curtsy.reports.findings.finding import DISK_FULL, Finding, Severity
from curtsy.store.held_back import HeldBack
from curtsy.store.space import Space

LARGEST_SKEW = 2 * SECOND
LEAST_FREE_BYTES = 2**30
LARGEST_LOG_BYTES = {"sqlite": 256 * 2**20, "postgresql": 8 * 2**30}
"""Of the write-ahead log, by engine. SQLite's is a few megabytes while nobody holds it."""
LARGEST_HELD_BYTES = 2**30
"""Of the log, by one replication slot."""


def of_clocks(skew: int, *, uncertainty: int) -> Iterator[Finding]:
    """`skew`: milliseconds that this machine's clock is ahead of the database's."""
    if abs(skew) > LARGEST_SKEW + uncertainty:
        direction = "ahead of" if skew > 0 else "behind"
        yield Finding(
            Severity.WARNING, "clock_skew",
            f"This machine's clock is {abs(skew) / SECOND:.1f} s {direction} the database's.",
            "set it by a time service. curtsy goes by the database's clock, so nothing is late, "
            "but log lines of different machines are hard to compare.",
        )  # fmt: skip


def of_space(space: Space, *, engine: str, has_room: bool, is_full: bool) -> Iterator[Finding]:
    if is_full:
        yield DISK_FULL
    elif not has_room and space.free_bytes is not None:
        yield Finding(
            Severity.PROBLEM, "disk_nearly_full",
            f"The database's disk has {megabytes(space.free_bytes)} left, less than "
            "DISK_RESERVE_BYTES: new jobs are refused, and workers begin no pages.",
            "free some space, or delete old jobs with `curtsy cleanup --days N`; then the work "
            "goes on by itself.",
        )  # fmt: skip
    elif space.free_bytes is not None and space.free_bytes < LEAST_FREE_BYTES:
        yield Finding(
            Severity.WARNING, "disk_space",
            f"The database's disk has {megabytes(space.free_bytes)} left.",
            "free some space, or delete old jobs with `curtsy cleanup --days N`.",
        )  # fmt: skip
    if (space.wal_bytes or 0) > LARGEST_LOG_BYTES[engine]:
        yield Finding(
            Severity.WARNING, "wal_size",
            f"The database's write-ahead log has {megabytes(space.wal_bytes or 0)}.",
            "another program has read the file for long, such as a shell or a backup: end it, and "
            "the log shrinks."
            if engine == "sqlite"
            else "look for replication slots and archiving that do not keep up.",
        )  # fmt: skip


def of_held_back(held: HeldBack) -> Iterator[Finding]:
    for one in held.transactions:
        who = f"{one.application or 'a client'} (process {one.pid} of the server, {one.state})"
        yield Finding(
            Severity.WARNING, "old_snapshot",
            f"A transaction of {who} has been open for {one.age // MINUTE} minutes, so that the "
            "server cannot remove rows that were replaced since.",
            f"end that program, or run `SELECT pg_terminate_backend({one.pid})`.",
        )  # fmt: skip
    for name in held.prepared:
        yield Finding(
            Severity.WARNING, "old_snapshot",
            f"The prepared transaction {name!r} holds back the server's cleaning.",
            "commit or roll it back: curtsy prepares none.",
        )  # fmt: skip
    for slot in held.slots:
        if slot.held_bytes > LARGEST_HELD_BYTES:
            state = "in use" if slot.is_active else "not in use"
            yield Finding(
                Severity.WARNING, "replication_slot",
                f"The replication slot {slot.name} ({state}) holds {megabytes(slot.held_bytes)} of "
                "the write-ahead log.",
                "bring its standby back, or drop the slot with "
                f"`SELECT pg_drop_replication_slot('{slot.name}')`: it can fill the disk.",
            )  # fmt: skip
