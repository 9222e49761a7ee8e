"""Scrapy and trafilatura in one process, as a spider's callback usually has them: tuned as
`scrapy_pages`, one line of JSONL for each article."""

import logging
from collections.abc import Iterator
from typing import Any

import orjson
import scrapy
import trafilatura
from scrapy import signals
from scrapy.crawler import AsyncCrawlerProcess
from scrapy.http import Response

from bench.children import contestant
from bench.contestants.scrapy_pages import SETTINGS, Pages
from bench.spent import Spent


class Articles(Pages):
    name = "articles"
    seen = 0

    def parse(self, response: Response) -> Iterator[dict[str, Any]]:
        Articles.seen += 1
        found = trafilatura.extract(
            response.text, url=response.url, output_format="json", with_metadata=True
        )
        if found is not None:
            yield orjson.loads(found)


def measure(urls: list[str], path: str, concurrency: int) -> dict[str, Any]:
    settings = SETTINGS | {
        "CONCURRENT_REQUESTS": concurrency,
        "FEEDS": {path: {"format": "jsonlines", "overwrite": True}},
    }
    logging.disable()
    Articles.urls = tuple(urls)
    process = AsyncCrawlerProcess(settings)
    crawler = process.create_crawler(Articles)
    began: list[Spent] = []
    measured: dict[str, float] = {}

    def first_request(request: scrapy.Request) -> None:
        del request
        if not began:
            began.append(Spent())

    crawler.signals.connect(first_request, signals.request_scheduled)
    crawler.signals.connect(
        lambda: measured.update(began[0].until_now()), signals.feed_exporter_closed, weak=False
    )
    process.crawl(crawler)
    process.start()
    with open(path, "rb") as written:  # noqa: PTH123
        articles = sum(1 for _ in written)
    return {"seen": Articles.seen, "pages": articles, **measured}


if __name__ == "__main__":
    contestant(measure)
