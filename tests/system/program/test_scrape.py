"""`curtsy.scrape` in scripts: with and without a guard, piped, interrupted, twice, in a thread."""

import asyncio
import signal
from collections.abc import Callable

import pytest

from api.conftest import Site
from program.conftest import Programs
from support.engine import until
from support.patience import PATIENCE

Stories = Callable[[int], list[str]]
HEAD = "import json, sys\nimport curtsy\nurls = sys.argv[1:]\n"
PLAIN = (
    HEAD
    + """
print("begins")
pages = curtsy.scrape(urls, LOOPBACK)
print(json.dumps([[one.title for one in pages.articles], [one.kind for one in pages.failures],
                  [one.url for one in pages]]))
"""
)
GUARDED = (
    HEAD
    + """
def main():
    pages = curtsy.scrape(urls, LOOPBACK)
    print("begins")
    print(json.dumps([[one.title for one in pages.articles], [one.kind for one in pages.failures],
                      [one.url for one in pages]]))

if __name__ == "__main__":
    main()
"""
)
THREAD = (
    HEAD
    + """
import threading

def work():
    print("begins")
    pages = curtsy.scrape(urls, LOOPBACK)
    print(json.dumps([[one.title for one in pages.articles], [one.kind for one in pages.failures],
                      [one.url for one in pages]]))

thread = threading.Thread(target=work)
thread.start()
thread.join()
"""
)
IN_A_LOOP = (
    HEAD
    + """
import asyncio

async def main():
    print("begins")
    blocking = curtsy.scrape(urls, LOOPBACK)
    pages = await curtsy.scrape_async(urls, LOOPBACK)
    assert [dict(one) | {"cached": 0, "attempted_at": 0} for one in pages] == [
        dict(one) | {"cached": 0, "attempted_at": 0} for one in blocking]
    print(json.dumps([[one.title for one in pages.articles], [one.kind for one in pages.failures],
                      [one.url for one in pages]]))

asyncio.run(main())
"""
)


@pytest.mark.parametrize(
    ("text", "piped"),
    [(PLAIN, False), (PLAIN, True), (GUARDED, False), (THREAD, False), (IN_A_LOOP, False)],
    ids=["plain", "piped", "guarded", "in a thread", "in a loop"],
)
async def test_a_script_gets_its_pages_and_runs_once(
    programs: Programs, site: Site, stories: Stories, text: str, piped: bool
) -> None:
    first, last = stories(2)
    gone = site.fails("/gone", 410)
    said = await programs.run(text, first, gone, last, piped=piped)
    assert said.json == [["A story", "A story"], ["gone"], [first, gone, last]]
    assert said.out.count("begins") == 1, "no process of the engine imports the program"


TWICE = (
    HEAD
    + """
import gc, threading
before = gc.get_threshold()
first = curtsy.scrape(urls, LOOPBACK)
again = curtsy.scrape(urls, LOOPBACK)
fresh = curtsy.scrape(urls[0], max_age=0, LOOPBACK)
raw = curtsy.scrape([urls[0], urls[0] + "#part"], scraper="raw", LOOPBACK)
assert len(raw) == len(curtsy.scrape([urls[0]] * 2, LOOPBACK)) == 1
left = [one.name for one in threading.enumerate() if one.name == "curtsy"]
assert gc.get_threshold() == before and gc.get_freeze_count() == 0
print(json.dumps([[one.cached for one in found.articles] for found in (first, again, fresh)]
                 + [raw[0].body.decode()[:6], left]))
"""
)


async def test_a_second_call_takes_from_the_store_what_is_fresh(
    programs: Programs, site: Site, stories: Stories
) -> None:
    urls = stories(3)
    said = await programs.run(TWICE, *urls)
    assert said.json == [[False] * 3, [True] * 3, [False], "<html>", []]
    assert sorted(one for one in site.asked if one != "/robots.txt") == ["/0"] * 3 + ["/1", "/2"]


INTERRUPTED = (
    HEAD
    + """
try:
    curtsy.scrape(urls, LOOPBACK, on_result=lambda one: print("came", one.url, flush=True))
except KeyboardInterrupt:
    print("interrupted", flush=True)
    pages = curtsy.scrape(urls, LOOPBACK)
    print(json.dumps([one.cached for one in pages.articles]))
"""
)


async def test_ctrl_c_stops_after_the_open_requests_and_the_next_call_continues(
    programs: Programs, site: Site, stories: Stories
) -> None:
    urls = stories(4)
    site.held["/2"] = asyncio.Event()

    async def is_held() -> bool:
        return "/2" in site.asked

    async with programs.start(INTERRUPTED, *urls) as program:
        await program.says(f"came {urls[0]}")
        await until(is_held, PATIENCE, lambda: "the third page was not asked for")
        program.process.send_signal(signal.SIGINT)
        await asyncio.sleep(0)
        site.held.pop("/2").set()
        said = await program.ended()
    assert (said.status, said.err) == (0, "")
    assert said.json == [True, True, True, False], "the open request was stored, the last one left"
    assert sorted(one for one in site.asked if one != "/robots.txt") == ["/0", "/1", "/2", "/3"]


TOO_LATE = (
    HEAD
    + """
from curtsy.client import NotInTime
try:
    curtsy.scrape(urls, LOOPBACK, timeout=3)
except NotInTime as late:
    print(late)
"""
)


async def test_a_timeout_says_what_is_kept(
    programs: Programs, site: Site, stories: Stories
) -> None:
    urls = stories(2)
    site.held["/1"] = asyncio.Event()
    async with programs.start(TOO_LATE, *urls) as program:

        async def is_held() -> bool:
            return "/1" in site.asked

        await until(is_held, PATIENCE, lambda: "the second page was not asked for")
        await asyncio.sleep(4)  # longer than the timeout of the program
        site.held.pop("/1").set()
        said = await program.ended()
    assert said.out == (
        "1 of 2 pages ended within 3 seconds. They are in the database: the same call continues "
        "from there.\n"
    )


OWN = """
from curtsy.scrapers import Found, scraper

@scraper
def shelf(page):
    return Found(records=[{"name": "a book", "price": 3.5}, {"name": "a map", "price": 4.0}])
"""
RECORDS = (
    HEAD
    + """
from dataclasses import dataclass

@dataclass
class Product:
    name: str
    price: float

found = curtsy.scrape(urls, scraper="shelf", scrapers=["own.py"], LOOPBACK)
assert found.records(Product)[1] == Product("a map", 4.0)
print(json.dumps(found.records()))
"""
)


async def test_records_of_a_scraper_of_ones_own_come_back_as_what_they_are(
    programs: Programs, stories: Stories
) -> None:
    (programs.folder / "own.py").write_text(OWN)
    said = await programs.run(RECORDS, *stories(1))
    assert said.json == [{"name": "a book", "price": 3.5}, {"name": "a map", "price": 4.0}]


NO_FILE = (
    HEAD
    + """
from curtsy.errors import BadSetting
for wrong in ({"scrapers": [print]}, {"min_delay": 3}, {"min_delay_seconds": "soon"}):
    try:
        curtsy.scrape(urls, **wrong)
    except BadSetting as bad:
        print(bad)
"""
)


async def test_what_is_wrong_is_a_sentence_in_the_words_of_the_caller(programs: Programs) -> None:
    function, unknown, value = (await programs.run(NO_FILE, "http://a.invalid/")).out.splitlines()
    assert "Write it to a file" in function
    assert "scrapers=['my_scraper.py']" in function
    assert unknown == "There is no setting 'min_delay': did you mean 'min_delay_seconds'?"
    assert value.startswith("min_delay_seconds= is 'soon': it must be a number")


LIGHT = """
import sys
import curtsy
heavy = {"fastapi", "sqlalchemy", "pydantic", "httpx", "asyncio", "typing", "structlog"}
before = heavy & set(sys.modules)
from curtsy import Client
client = Client("http://127.0.0.1:9")
print([sorted(before), sorted({"fastapi", "sqlalchemy", "pydantic"} & set(sys.modules))])
assert {"scrape", "Engine", "Client"} <= set(dir(curtsy))
"""


async def test_importing_curtsy_loads_nothing_until_it_is_used(programs: Programs) -> None:
    assert (await programs.run(LIGHT)).out == "[[], []]\n"
