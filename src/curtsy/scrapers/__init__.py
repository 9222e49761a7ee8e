"""Scrapers: functions from a fetched page to a record. They cannot write state."""

from collections.abc import Callable

from curtsy.model.outcome import Failed, Record, Reply
from curtsy.scrapers.raw import raw

Scraper = Callable[[Reply], Record | Failed]

SCRAPERS: dict[str, Scraper] = {"raw": raw}
