"""The scraper `sitemap`: the pages of a sitemap, or the sitemaps of an index or a robots.txt."""

from collections.abc import Mapping
from typing import Any

from curtsy.model.outcome import Failed, Record, Reply
from curtsy.scrapers.feeds.list_page import SITEMAP, read_list


def sitemap(reply: Reply, params: Mapping[str, Any]) -> Record | Failed:
    return read_list(reply, SITEMAP, params)
