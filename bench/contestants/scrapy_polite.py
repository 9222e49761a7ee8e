"""Scrapy with a delay for each host, robots.txt obeyed, and its own priorities."""

import logging
from collections.abc import AsyncIterator
from typing import Any

import scrapy
from scrapy.crawler import AsyncCrawlerProcess

from bench.children import contestant
from bench.contestants.scrapy_pages import SETTINGS, Pages


class PolitePages(Pages):
    name = "polite"
    ranked: tuple[tuple[str, int], ...] = ()

    async def start(self) -> AsyncIterator[scrapy.Request]:
        for url, priority in self.ranked:
            yield scrapy.Request(url, priority=priority, dont_filter=True)


def measure(
    ranked: list[tuple[str, int]], path: str, concurrency: int, delay: float
) -> dict[str, Any]:
    """With each URL its priority, where more is better."""
    settings = SETTINGS | {
        "CONCURRENT_REQUESTS": concurrency,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 1,
        "DOWNLOAD_DELAY": delay,
        "DOWNLOAD_DELAY_JITTER": 0,  # which is RANDOMIZE_DOWNLOAD_DELAY off
        "FEEDS": {path: {"format": "jsonlines", "overwrite": True}},
        "ROBOTSTXT_OBEY": True,
    }
    logging.disable()
    PolitePages.ranked = tuple((url, priority) for url, priority in ranked)
    process = AsyncCrawlerProcess(settings)
    process.crawl(PolitePages)
    process.start()
    with open(path, "rb") as written:  # noqa: PTH123
        return {"pages": sum(1 for _ in written)}


if __name__ == "__main__":
    contestant(measure)
