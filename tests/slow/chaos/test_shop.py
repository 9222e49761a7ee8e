"""From listings to details in one job, while workers are killed: 200 products on 10 pages.

The listing names the scraper of each product and passes it the shelf that it stood on.
"""

import asyncio
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from chaos.trouble import Trouble
from chaos.world import World, world
from curtsy.api.schemas.results import lines_of
from curtsy.demo.process import PracticeProcess
from curtsy.extract.inspection import inspect_scrapers
from curtsy.jobs import JobRequest
from curtsy.jobs.results import ResultPlace, ended_items
from curtsy.model.roles import OPEN
from curtsy.requests.crawl import CrawlRequest, job_request
from curtsy.scrapers import NAMES
from support.pages import PageServer
from support.processes import Fleet

SHELVES, PRODUCTS = 10, 200
EACH = PRODUCTS // SHELVES
SCRAPERS = """
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from curtsy.scrapers import Found, Link, scraper


@dataclass
class Product:
    sku: str
    name: str
    price: Decimal
    since: date
    in_stock: bool
    shelf: int


@scraper
def shelf(page):
    products = [Link(a.attributes["href"], scraper="product", params={"shelf": page.url[-1]})
                for a in page.css("li a")]
    following = page.css_first("a.next")
    return Found(links=products, next=following and following.attributes["href"])


@scraper(record=Product, key=["sku"])
def product(page):
    shown = {b.attributes["id"]: b.text() for b in page.css("b")}
    return Product(shown["sku"], shown["name"], Decimal(shown["price"]),
                   date.fromisoformat(shown["since"]), shown["stock"] == "yes",
                   int(page.params["shelf"]))
"""


def shop() -> dict[str, bytes]:
    """Each shelf shows its products, and the first of the next shelf as well."""
    pages = {}
    for shelf in range(SHELVES):
        shown = range(shelf * EACH, min(PRODUCTS, shelf * EACH + EACH + 1))
        rows = "".join(f"<li><a href=/product/{n}>{n}</a>" for n in shown)
        onward = f"<a class=next href=/shelf/{shelf + 1}>on</a>" if shelf + 1 < SHELVES else ""
        pages[f"/shelf/{shelf}"] = f"<ul>{rows}</ul>{onward}<a href=/imprint>i</a>".encode()
    for n in range(PRODUCTS):
        facts = {"sku": f"S{n:03}", "name": f"Chair & table {n}", "price": f"{n}.50",
                 "since": f"2026-{n % 12 + 1:02}-01",
                 "stock": "yes" if n % 3 else "no"}  # fmt: skip
        text = "".join(f"<b id={name}>{value}</b>" for name, value in facts.items())
        pages[f"/product/{n}"] = f"{text}<a href=/imprint>i</a>".encode()
    return pages


def request(url: str) -> JobRequest:
    body = {"spider": "shelf", "start_urls": [url], "depth": SHELVES + 1,
            "params": {"rules": [{"match": "*/shelf/*", "keep": False},
                                 {"match": "*/product/*", "follow": False}]}}  # fmt: skip
    parsed = CrawlRequest.model_validate(body)
    return job_request(parsed, key=None, caller=OPEN, fresh=True, cache_ttl=0, now=0)


@pytest.fixture
def scrapers(tmp_path: Path) -> Path:
    file = tmp_path / "shop.py"
    file.write_text(SCRAPERS)
    return file


async def test_each_product_of_a_shop_is_a_record_once_whoever_dies(
    fleet: Fleet, practice: PracticeProcess, postgres_url: str, scrapers: Path
) -> None:
    await scraped_under_fire(postgres_url, fleet, practice, scrapers)


async def test_so_is_each_of_one_in_a_file(
    file_fleet: Fleet, practice: PracticeProcess, sqlite_url: str, scrapers: Path
) -> None:
    await scraped_under_fire(sqlite_url, file_fleet, practice, scrapers)


async def scraped_under_fire(
    url: str, fleet: Fleet, practice: PracticeProcess, scrapers: Path
) -> None:
    async with PageServer(shop()) as served, world(url, fleet, practice) as made:
        for _ in range(2):
            fleet.worker(scrapers=scrapers, min_delay_seconds=0.02, robots="ignore")
        own = inspect_scrapers([str(scrapers)])
        made.submitter.limits = replace(made.submitter.limits, scrapers=NAMES | own.names)
        made.jobs.append((await made.submitter.submit(request(served.url("/shelf/0")))).job)
        trouble = Trouble(fleet, made.rng)
        async with asyncio.TaskGroup() as group:
            await made.done(10)
            group.create_task(trouble.last(4, [trouble.kill], every=(0.6, 1.2), least=3))
        await made.all_ended(90)
        await made.only_the_living()
        assert set(await fleet.stop()) <= {0}
        assert fleet.crashes() == []
        rows = await records(made)
    assert trouble.made["kill"] >= 3
    asked = Counter(served.asked)
    assert asked.keys() - {"/robots.txt"} == shop().keys(), "no imprint, no page of another kind"
    in_vain = sum(asked.values()) - len(shop()) - asked["/robots.txt"]
    print(f"{in_vain} requests of {sum(asked.values())} in vain, {dict(trouble.made)}")
    assert sorted(row["sku"] for row in rows) == [f"S{n:03}" for n in range(PRODUCTS)]
    assert [list(row) for row in rows] == [
        ["sku", "name", "price", "since", "in_stock", "shelf"]
    ] * PRODUCTS
    by_sku = {row["sku"]: row for row in rows}
    assert by_sku["S045"] == {
        "sku": "S045", "name": "Chair & table 45", "price": "45.50", "since": "2026-10-01",
        "in_stock": False, "shelf": 2,
    }  # fmt: skip
    assert by_sku["S040"]["shelf"] in (1, 2), "both shelves show it: it was fetched for one of them"


async def records(made: World) -> list[dict[str, Any]]:
    """The records of the job, as its results show them."""
    job, start = await made.count("SELECT id FROM jobs"), ResultPlace()
    piece = await made.store.read(lambda c: ended_items(c, job, place=start, most=1_000))
    lines = [orjson.loads(line) for line in b"".join(lines_of(piece, start)).splitlines()]
    return [line["record"] for line in lines]
