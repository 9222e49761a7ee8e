"""The records of scrapers of one's own as results: a row each, their fields in declared order, with
a real worker whose children run the scrapers confined."""

import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from api.conftest import Site
from api.front import Front, front
from curtsy.clock import Clock
from curtsy.extract import ExtractLimits
from curtsy.extract.inspection import inspect_scrapers
from curtsy.politeness.policy import Policy
from curtsy.scrapers import NAMES, as_model
from curtsy.store import Store
from support.engine import engine, settings, until

FAST = Policy(min_delay=0, concurrency=8, max_retries=0, retry_base=10)
GOODS = '''
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

import pydantic

from curtsy.scrapers import Found, Page, scraper


@dataclass
class Product:
    title: str
    price: Decimal
    note: str | None = None


class Offer(pydantic.BaseModel):
    zone: str
    amount: int


@scraper(record=Product, key=["title"])
def goods(page: Page) -> Iterator[Product] | Found:
    """As many products as the page says."""
    number = int(page.text)
    if not number:
        return Found(empty=True)
    return (Product(f"{page.url} {n}", Decimal(n) / 4) for n in range(number))


@scraper(record=Offer)
def offer(page: Page) -> Offer:
    return Offer(zone=page.text, amount=page.text)


@scraper(fields=["z", "a"])
def words(page: Page) -> dict[str, str]:
    return {"a": page.text, "extra": "x\\0" + "y" * 2**20}
'''


class Shop:
    def __init__(self, door: Front, site: Site) -> None:
        self.door, self._site = door, site

    async def crawl(self, pages: Mapping[str, str], spider: str, **fields: Any) -> str:
        urls = [self._site.has(path, text.encode(), "text/html") for path, text in pages.items()]
        body = {"user_id": "u", "spider": spider, "start_urls": urls, "depth": 0, **fields}
        made = await self.door.ask("POST", "/crawl", json=body)
        assert made.status == 200, made.json
        job: str = made.json["job_id"]
        await until(lambda: self._is_over(job), 60, lambda: f"{job} has not ended")
        return job

    async def _is_over(self, job: str) -> bool:
        return bool((await self.door.get(f"/jobs/{job}/status")).json["pending"] == 0)

    async def parts(self, job: str, limit: int) -> AsyncIterator[Any]:
        path = f"/jobs/{job}/results?limit={limit}"
        onward: str | None = ""
        while onward is not None:
            part = (await self.door.get(f"{path}&cursor={onward}" if onward else path)).json
            yield part
            onward = part.get("next_cursor")

    async def lines(self, job: str, cursor: str = "") -> list[Any]:
        url = f"{self.door.url}/jobs/{job}/results{cursor}"
        headers = {"Accept": "application/x-ndjson"}
        async with self.door.session.get(url, headers=headers) as reply:
            return [json.loads(line) for line in (await reply.text()).splitlines()]


@pytest.fixture
async def shop(store: Store, clock: Clock, site: Site, tmp_path: Path) -> AsyncIterator[Shop]:
    file = tmp_path / "goods.py"
    file.write_text(GOODS)
    own, whole = inspect_scrapers([str(file)]), engine(store, clock)
    limits = replace(whole.submitter.limits, scrapers=NAMES | own.names)
    extract = ExtractLimits(processes=2, seconds=30)
    async with (
        front(store, whole, limits) as door,
        whole.worker(settings(FAST, extract=extract, own=own)),
    ):
        yield Shop(door, site)


def titles(rows: list[Any]) -> list[str]:
    return [row["record"]["title"] for row in rows]


async def test_each_record_is_a_row_and_a_cursor_neither_skips_nor_repeats(shop: Shop) -> None:
    pages = {"/a": "3", "/b": "0", "/c": "2500", "/d": "none", "/e": "1"}
    job = await shop.crawl(pages, "goods")
    at = shop._site.url
    expected = [f"{at}/{page} {n}" for page, number in (("a", 3), ("c", 2500), ("e", 1))
                for n in range(number)]  # fmt: skip
    for limit in (7, 1_000):
        parts = [part async for part in shop.parts(job, limit)]
        assert max(len(part["results"]) for part in parts) == limit
        assert titles([row for part in parts for row in part["results"]]) == expected
        assert sum(part.get("pages_without_records", 0) for part in parts) == 1
        failed = [row["url"] for part in parts for row in part["failed_articles"]]
        assert failed == [f"{at}/d"]
        head = parts[0]
        assert (head["total_articles"], head["successful"], head["failed"]) == (5, 4, 1)
    lines = await shop.lines(job)
    assert [line["status"] for line in lines].count("FAILED") == 1
    assert titles([line for line in lines if line["status"] == "SCRAPED"]) == expected
    cut = await shop.lines(job, "?cursor=2-2490")
    assert titles([line for line in cut if line["status"] == "SCRAPED"]) == expected[3 + 2490 :]


async def test_a_row_says_where_its_record_is_from_and_becomes_an_instance_again(
    shop: Shop,
) -> None:
    job = await shop.crawl({"/two": "2"}, "goods")
    [part] = [part async for part in shop.parts(job, 1_000)]
    row = part["results"][1]
    url = f"{shop._site.url}/two"
    assert {name: row[name] for name in ("url", "scraper", "cached", "record")} == {
        "url": url, "scraper": "goods", "cached": False,
        "record": {"title": f"{url} 1", "price": "0.25", "note": None},
    }  # fmt: skip
    assert list(row["record"]) == ["title", "price", "note"]
    assert not {"content", "title"} & row.keys()
    assert len({one["record_key"] for one in part["results"]}) == 2
    known: dict[str, Any] = {}
    exec(GOODS, known)
    product = as_model(known["Product"], row["record"])
    assert product == known["Product"](f"{url} 1", known["Decimal"]("0.25"))


async def test_a_single_record_keeps_its_order_and_its_odd_values(shop: Shop) -> None:
    job = await shop.crawl({"/one": "é"}, "words")
    [row] = await shop.lines(job)
    assert list(row["record"].items()) == [("z", None), ("a", "é"), ("extra", "x\0" + "y" * 2**20)]
    asked = {"Accept": "application/json"}
    logs = (await shop.door.ask("GET", f"/jobs/{job}/logs", headers=asked)).json["lines"]
    assert any("Not declared, and kept after the declared fields: 'extra'." in line["msg"]
               for line in logs)  # fmt: skip


async def test_a_model_that_refuses_a_page_fails_it_with_the_field(shop: Shop) -> None:
    job = await shop.crawl({"/offer": "many"}, "offer")
    [row] = await shop.lines(job)
    assert (row["status"], row["kind"]) == ("FAILED", "extract_failed")
    assert row["error"].startswith("A record is no valid Offer: amount: Input should be a valid")


async def test_a_listing_keeps_the_order_of_its_recipe(shop: Shop) -> None:
    html = "<ul><li><b>One</b><i>1</i><a href=/x>x</a></li><li><b>Two</b><i>2</i></li></ul>"
    fields = {"title": "b", "rank": {"css": "i", "kind": "number"},
              "link": {"css": "a", "kind": "url"}}  # fmt: skip
    for order in (["title", "rank", "link"], ["link", "title", "rank"]):
        recipe = {"record": "li", "fields": {name: fields[name] for name in order}}
        job = await shop.crawl(
            {"/list": html}, "listing", params={"recipe": recipe}, ignore_cache=True
        )
        rows = await shop.lines(job)
        assert [list(row["record"]) for row in rows] == [order, order], "the newest order counts"
        assert titles(rows) == ["One", "Two"]
        assert rows[0]["record"]["link"] == f"{shop._site.url}/x"
