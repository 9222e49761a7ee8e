"""`curtsy api`: serves the API until a signal."""

from collections.abc import Callable

from curtsy.api.backend import Backend, BackendSettings
from curtsy.clock import Clock
from curtsy.config import Settings, milliseconds, whole_policy
from curtsy.fetch import parse_allowed_proxies
from curtsy.jobs import Submitter
from curtsy.processes.api_access import access_rules_for
from curtsy.processes.builders import scheduler_for, submitter_for
from curtsy.processes.declarations import Declared, apply
from curtsy.processes.parts import synchronise_clock, until_stopped
from curtsy.processes.signals import Stop
from curtsy.processes.startup import own_scrapers, ready
from curtsy.schedules.scheduler import Scheduler
from curtsy.store import Store
from curtsy.store.wakeups import Wakeups


async def serve_api(settings: Settings) -> None:
    """Serves the API until a signal; other processes fetch pages."""
    from curtsy.processes.http_server import Api, listen  # a local API needs no server

    declared, own = Declared.read(settings), own_scrapers(settings)
    with Stop() as stop, listen(settings) as listening:
        async with (
            ready(settings) as (store, clock),
            Wakeups(settings.database_url, lambda: backend.feed.wake()) as wakeups,
        ):
            submitter = submitter_for(settings, store, clock, wakeups.send, own)
            scheduler = scheduler_for(settings, store, clock, submitter, wakeups.send)
            async with backend_for(settings, store, clock, submitter, scheduler,
                                   wakeups.send) as backend:  # fmt: skip
                access_rules = await access_rules_for(settings, listening, store)
                await apply(settings, declared, store, clock, scheduler.firer.check)
                steps = {"keep_time": lambda: synchronise_clock(store, clock)}
                await until_stopped(stop, store, [Api(backend, listening, access_rules)], steps)


def backend_for(
    settings: Settings, store: Store, clock: Clock, submitter: Submitter, scheduler: Scheduler,
    on_work: Callable[[], None],
) -> Backend:  # fmt: skip
    return Backend(
        store=store, clock=clock, submitter=submitter, scheduler=scheduler, on_work=on_work,
        settings=BackendSettings(
            page_max_age=milliseconds(settings.page_max_age),
            crawl_cache_ttl=milliseconds(settings.crawl_cache_ttl),
            policy=whole_policy(settings), lease_ttl=milliseconds(settings.lease_seconds),
            allow_proxies=parse_allowed_proxies(settings.allow_proxies),
            user_agent=settings.user_agent, sync_timeout=settings.sync_timeout,
            result_days=settings.result_days,
        ),
    )  # fmt: skip
