"""Converts settings, in seconds, to the values that the rooms use, in milliseconds."""

from dataclasses import replace

from curtsy.config.settings import Settings
from curtsy.extract import ExtractLimits
from curtsy.fetch import Limits, parse_allowed_proxies, parse_networks
from curtsy.model.worker_places import WorkerPlace
from curtsy.politeness.policy import Policy
from curtsy.scrapers.registry import OwnScrapers
from curtsy.worker import WorkerSettings

LANES_PER_SLOT = 20
"""Most sources that a worker owns wait for their delay, without using a slot."""
DRAIN_MARGIN_SECONDS = 10
MEMORY_OF_WORKER = 2**30
"""For its own process: more than ten times what a worker on articles was measured to need."""


def milliseconds(seconds: float) -> int:
    return round(seconds * 1000)


def policy(settings: Settings) -> Policy:
    """The policy of sources that are not described."""
    return Policy(
        min_delay=milliseconds(settings.min_delay_seconds),
        concurrency=settings.source_concurrency,
        max_retries=settings.max_retry_attempts,
        retry_base=milliseconds(settings.retry_base),
        retry_cap=milliseconds(settings.retry_cap),
        give_up_probes=settings.host_give_up_probes,
        give_up_after=milliseconds(settings.host_give_up_seconds),
        robots=settings.robots == "obey",
        crawl_delay_cap=milliseconds(settings.crawl_delay_cap),
    )


def whole_policy(settings: Settings) -> Policy:
    """The same, with the timeout and the user agent of a worker."""
    timeout = milliseconds(settings.scrape_timeout)
    return replace(policy(settings), timeout=timeout, user_agent=settings.user_agent)


def worker_settings(
    settings: Settings, own: OwnScrapers | None = None, *, place: WorkerPlace | None = None
) -> WorkerSettings:
    """`own` are the scrapers of SCRAPERS and of installed packages; `place` is the worker's among
    the processes of one supervisor."""
    return WorkerSettings(
        slots=settings.worker_slots,
        lanes=settings.worker_slots * LANES_PER_SLOT,
        lease_ttl=milliseconds(settings.lease_seconds),
        policy=policy(settings),
        limits=Limits(
            connect_seconds=settings.connect_timeout,
            total_seconds=settings.scrape_timeout,
            body_bytes=settings.max_body_bytes,
            wire_bytes=settings.max_body_bytes,
        ),
        extract=ExtractLimits(
            processes=settings.extract_processes,
            seconds=settings.extract_seconds,
            memory_bytes=settings.extract_memory_bytes,
            pages_per_process=settings.extract_child_pages,
            seconds_per_process=settings.extract_child_seconds,
            keep_below_bytes=settings.extract_child_bytes,
        ),
        memory_bytes=_memory_of_worker(settings),
        max_redirects=settings.max_redirects,
        user_agent=settings.user_agent,
        allow=parse_networks(settings.allow_addresses),
        allow_proxies=parse_allowed_proxies(settings.allow_proxies),
        drain_seconds=(settings.scrape_timeout + settings.extract_seconds + DRAIN_MARGIN_SECONDS),
        place=place,
        own=own or OwnScrapers(),
    )


def _memory_of_worker(settings: Settings) -> int:
    """`auto` is what its own process and its children may use by their other limits, so that only
    a process that grows without end exceeds it."""
    if settings.worker_memory_bytes != "auto":
        return settings.worker_memory_bytes
    return MEMORY_OF_WORKER + settings.extract_processes * settings.extract_child_bytes
