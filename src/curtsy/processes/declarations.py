"""Applies the files of sources, sites, schedules and alerts when a process starts."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from curtsy.alerts.stored_channels import apply_channels
from curtsy.alerts.stored_rules import apply_rules
from curtsy.clock import Clock
from curtsy.config import Settings, milliseconds, read_sources, whole_policy
from curtsy.config.alerts_file import AlertSections, read_alerts
from curtsy.config.declared_files import read_schedules, read_sites
from curtsy.config.exposed_files import exposed_files, missing_secrets
from curtsy.config.sources_file import Sections
from curtsy.fetch import parse_allowed_proxies
from curtsy.frontier.source_policy import PolicyContext
from curtsy.logs import logger
from curtsy.maintenance.timetable import create_timetable
from curtsy.requests.schedules import ScheduleRequest
from curtsy.requests.schedules_file import apply_schedules
from curtsy.schedules.firer import CheckPayload
from curtsy.schedules.site_schedules import apply_sites
from curtsy.schedules.task_queue import TaskQueue
from curtsy.sites.spec import SiteSpec
from curtsy.sources.file import Applied, apply_file
from curtsy.store import Connection, Store

log = logger("app")


@dataclass(frozen=True, slots=True)
class Declared:
    """The parsed files; None for a file that does not exist."""

    sources: Sections | None
    sites: Mapping[str, SiteSpec] | None
    schedules: Mapping[str, ScheduleRequest] | None
    alerts: AlertSections | None

    @classmethod
    def read(cls, settings: Settings) -> Self:
        """Raises `BadSetting` with all problems of a file. Warns of secrets that others may read,
        or that are missing."""
        for sentence in exposed_files(settings):
            log.warning("secrets_exposed", meaning=sentence)
        for sentence in missing_secrets(settings):
            log.warning("secret_missing", meaning=sentence)
        return cls(read_sources(settings), read_sites(settings), read_schedules(settings),
                   read_alerts(settings))  # fmt: skip


async def apply(
    settings: Settings, declared: Declared, store: Store, clock: Clock, check: CheckPayload
) -> None:
    """Applies each file in its own transaction; any number of processes may do so."""
    await apply_sources(settings, declared.sources, store, clock)
    if declared.sites is not None:
        sites = declared.sites
        _log_applied("sites_applied", settings.sites_file, await store.write(
            lambda c: apply_sites(c, sites, _context(settings, clock), check), durable=True
        ))  # fmt: skip
    if declared.schedules is not None:
        schedules = declared.schedules
        _log_applied("schedules_applied", settings.schedules_file, await store.write(
            lambda c: apply_schedules(c, schedules, check, now=clock.now()), durable=True
        ))  # fmt: skip
    await apply_alerts(settings, declared.alerts, store, clock)


async def apply_alerts(
    settings: Settings, alerts: AlertSections | None, store: Store, clock: Clock
) -> None:
    """Applies the alerts file in one transaction; any number of processes may do so."""
    if alerts is None:
        return

    def work(connection: Connection) -> tuple[Applied, Applied]:
        return (apply_channels(connection, alerts.channels, now=clock.now()),
                apply_rules(connection, alerts.rules, now=clock.now()))  # fmt: skip

    channels, rules = await store.write(work, durable=True)
    _log_applied("alert_channels_applied", settings.alerts_file, channels)
    _log_applied("alert_rules_applied", settings.alerts_file, rules)


async def schedule_maintenance(store: Store, clock: Clock, tasks: TaskQueue) -> None:
    """Creates the schedules of the maintenance tasks that the database has not had yet. Call it
    after `apply`: a task that the schedules file schedules needs no other schedule."""
    created = await store.write(
        lambda c: create_timetable(c, tasks.names, now=clock.now()), durable=True
    )
    if created:
        log.info("maintenance_scheduled", schedules=created)


def _log_applied(event: str, file: str, applied: Applied) -> None:
    if applied.declared or applied.removed:
        log.info(event, file=file, declared=applied.declared, removed=applied.removed)


async def apply_sources(
    settings: Settings, described: Sections | None, store: Store, clock: Clock
) -> None:
    """Applies the sources file in one transaction; any number of processes may do so."""
    if described is None:
        return
    applied: Applied = await store.write(
        lambda c: apply_file(c, described, _context(settings, clock)), durable=True
    )
    if applied.declared or applied.removed:
        log.info("sources_applied", file=settings.sources_file, described=applied.declared,
                 forgotten=applied.removed)  # fmt: skip


def _context(settings: Settings, clock: Clock) -> PolicyContext:
    return PolicyContext(
        whole_policy(settings), milliseconds(settings.lease_seconds), clock.now(),
        parse_allowed_proxies(settings.allow_proxies),
    )  # fmt: skip
