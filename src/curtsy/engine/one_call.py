"""`curtsy.scrape(urls)`: the engine for one call."""

from collections.abc import Callable, Iterable

from curtsy.client import NotInTime
from curtsy.client.results import PageResult
from curtsy.engine.engine import Engine
from curtsy.engine.program_settings import Path, Setting
from curtsy.engine.results_list import Results, in_order
from curtsy.model.counts import counted

OnResult = Callable[[PageResult], None]
"""Called with each result as it comes, in the caller's thread."""


class OneCallEngine(Engine):
    """Is closed after its first job."""

    is_for_one_call = True


def scrape(
    urls: str | Iterable[str], *, scraper: str = "article", max_age: int | None = None,
    timeout: float | None = None, on_result: OnResult | None = None, database: Path | None = None,
    scrapers: Iterable[Path] = (), **settings: Setting,
) -> Results:  # fmt: skip
    """Fetches pages and returns what they became, in the order of the URLs; blocks until then.

    Articles that the database has already, at most `max_age` seconds old, are not fetched again.
    `scraper` is `article`, `raw`, or one of the files in `scrapers`. Ends with the open requests
    when it is interrupted; the same call then continues from there. After `timeout` seconds it
    raises `NotInTime`, and keeps in the database what was fetched. `on_result` is called with each
    result as it comes. `settings`: as for `Engine`.
    """
    wanted = [urls] if isinstance(urls, str) else list(urls)
    engine = OneCallEngine(database, scrapers=scrapers, fires_schedules=False, **settings)
    found: list[PageResult] = []
    with engine as opened:
        try:
            for result in opened.scrape(wanted, scraper=scraper, max_age=max_age, timeout=timeout):
                found.append(result)
                if on_result is not None:
                    on_result(result)
        except NotInTime:
            raise _not_in_time(timeout, found, wanted) from None
    return in_order(found, wanted)


async def scrape_async(
    urls: str | Iterable[str], *, scraper: str = "article", max_age: int | None = None,
    timeout: float | None = None, on_result: OnResult | None = None, database: Path | None = None,
    scrapers: Iterable[Path] = (), **settings: Setting,
) -> Results:  # fmt: skip
    """The same for programs with an event loop, on which the engine runs."""
    wanted = [urls] if isinstance(urls, str) else list(urls)
    engine = OneCallEngine(database, scrapers=scrapers, fires_schedules=False, **settings)
    found: list[PageResult] = []
    async with engine as opened:
        try:
            pages = opened.scrape(wanted, scraper=scraper, max_age=max_age, timeout=timeout)
            async for result in pages:
                found.append(result)
                if on_result is not None:
                    on_result(result)
        except NotInTime:
            raise _not_in_time(timeout, found, wanted) from None
    return in_order(found, wanted)


def _not_in_time(timeout: float | None, found: list[PageResult], wanted: list[str]) -> NotInTime:
    return NotInTime(
        f"{len(found)} of {counted(len(wanted), 'page')} ended within {timeout or 0:g} seconds. "
        "They are in the database: the same call continues from there."
    )
