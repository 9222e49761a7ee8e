"""Scrapy, tuned: everything off that a plain list of pages does not need, items to JSONL.

`handler` is `twisted`, Scrapy's own default, or `aiohttp`, the experimental one it brings along.
"""

import logging
from collections.abc import AsyncIterator, Iterator
from typing import Any

import scrapy
from scrapy import signals
from scrapy.crawler import AsyncCrawlerProcess
from scrapy.http import Response

from bench.children import contestant
from bench.spent import Spent

AIOHTTP = "scrapy.core.downloader.handlers._aiohttp.AiohttpDownloadHandler"
SETTINGS: dict[str, Any] = {
    "ASYNCIO_EVENT_LOOP": "uvloop.Loop",
    "AUTOTHROTTLE_ENABLED": False,
    "COMPRESSION_ENABLED": False,
    "CONCURRENT_ITEMS": 1,  # tasks made for each response; one page gives one item
    "CONCURRENT_REQUESTS_PER_DOMAIN": 100,
    "COOKIES_ENABLED": False,
    "DOWNLOAD_DELAY": 0,
    "DOWNLOADER_STATS": False,
    "DUPEFILTER_CLASS": "scrapy.dupefilters.BaseDupeFilter",
    "HTTPPROXY_ENABLED": False,
    "LOG_ENABLED": False,
    "LOG_INSTALL_ROOT_HANDLER": False,
    "MEMUSAGE_ENABLED": False,
    "METAREFRESH_ENABLED": False,
    "REDIRECT_ENABLED": False,
    "REFERER_ENABLED": False,
    "RETRY_ENABLED": False,
    "ROBOTSTXT_OBEY": False,
    "STATS_CLASS": "scrapy.statscollectors.DummyStatsCollector",
    "TELNETCONSOLE_ENABLED": False,
    "USER_AGENT": "bench",
}


class Pages(scrapy.Spider):
    name = "pages"
    urls: tuple[str, ...] = ()

    async def start(self) -> AsyncIterator[scrapy.Request]:
        for url in self.urls:
            yield scrapy.Request(url, dont_filter=True)

    def parse(self, response: Response) -> Iterator[dict[str, Any]]:
        yield {"url": response.url, "status": response.status, "body": response.text}


def measure(urls: list[str], path: str, concurrency: int, handler: str) -> dict[str, Any]:
    settings = SETTINGS | {
        "CONCURRENT_REQUESTS": concurrency,
        "FEEDS": {path: {"format": "jsonlines", "overwrite": True}},
    }
    if handler == "aiohttp":
        settings["DOWNLOAD_HANDLERS"] = {"http": AIOHTTP, "https": AIOHTTP}
    logging.disable()
    Pages.urls = tuple(urls)
    process = AsyncCrawlerProcess(settings)
    crawler = process.create_crawler(Pages)
    began: list[Spent] = []
    measured: dict[str, float] = {}

    def first_request() -> None:
        if not began:
            began.append(Spent())

    def feed_written() -> None:
        measured.update(began[0].until_now())

    crawler.signals.connect(first_request, signals.request_scheduled)
    crawler.signals.connect(feed_written, signals.feed_exporter_closed)
    process.crawl(crawler)
    process.start()
    with open(path, "rb") as written:  # noqa: PTH123
        pages = sum(1 for _ in written)
    return {"pages": pages, **measured}


if __name__ == "__main__":
    contestant(measure)
