"""The policy of a source: pace, limits, retries and request options. Spans are milliseconds."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from curtsy.clock import HOUR
from curtsy.politeness.hours import Hours
from curtsy.politeness.login import Login
from curtsy.references import Secret, from_stored


@dataclass(frozen=True, slots=True)
class Policy:
    min_delay: int = 1_000
    """Between the starts of two requests."""
    max_delay: int = 0
    """If above `min_delay`, each delay is random between the two."""
    requests_per_hour: int = 0
    """The most requests in any hour; 0: no limit."""
    burst_limit: int = 1
    """Requests that may follow each other at `min_delay` before they are spread over the hour."""
    concurrency: int = 1
    hours: Hours | None = None
    max_retries: int = 3
    retry_base: int = 60_000
    retry_cap: int = 600_000
    give_up_probes: int = 4
    """After this many failed probes in a row, the host counts as dead;"""
    give_up_after: int = 3_600_000
    """likewise after this much rest after failures, not counting rests that the host asked for."""
    robots: bool = True
    crawl_delay_cap: int = 60_000
    """The longest Crawl-delay that is honoured."""
    timeout: int | None = None
    """For a whole attempt; None: the worker's setting."""
    headers: tuple[tuple[str, Secret], ...] = ()
    user_agent: str | None = None
    proxy: Secret | None = None
    login: Login | None = None
    """Before the first page of a session."""
    proxies: tuple[Secret, ...] = ()
    """Each request goes through the next one, `proxy` included, that does not rest."""

    @property
    def spread(self) -> float:
        """The span between two starts if the hourly limit is spread evenly."""
        return HOUR / self.requests_per_hour if self.requests_per_hour else 0.0

    @property
    def all_proxies(self) -> tuple[Secret, ...]:
        return (self.proxy, *self.proxies) if self.proxy is not None else self.proxies

    def with_overrides(self, overrides: Mapping[str, Any]) -> "Policy":
        known = {field.name for field in fields(self)}
        given = {name: value for name, value in overrides.items() if name in known}
        if given.get("hours") is not None:
            given["hours"] = Hours(**given["hours"])
        if "headers" in given:
            given["headers"] = tuple((n, from_stored(v)) for n, v in given["headers"].items())
        if given.get("proxy") is not None:
            given["proxy"] = from_stored(given["proxy"])
        if given.get("login") is not None:
            given["login"] = Login.from_stored(given["login"])
        if "proxies" in given:
            given["proxies"] = tuple(from_stored(proxy) for proxy in given["proxies"])
        return replace(self, **given)

    def with_crawl_delay(self, crawl_delay: int) -> "Policy":
        """The policy with a delay of at least this Crawl-delay, up to the cap, if robots.txt is
        obeyed."""
        delay = min(crawl_delay, self.crawl_delay_cap) if self.robots else 0
        if self.min_delay >= delay:
            return self
        return replace(self, min_delay=delay, max_delay=max(self.max_delay, delay))
