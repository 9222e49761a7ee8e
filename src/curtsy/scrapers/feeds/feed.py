"""The scraper `feed`: the entries of RSS, Atom and JSON feeds, or the feeds that a page names."""

from collections.abc import Mapping
from typing import Any

from curtsy.model.outcome import Failed, Record, Reply
from curtsy.scrapers.feeds.list_page import FEED, read_list


def feed(reply: Reply, params: Mapping[str, Any]) -> Record | Failed:
    return read_list(reply, FEED, params)
