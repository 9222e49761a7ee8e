"""`curtsy.Engine` in scripts: several at once, beside a service, with schedules and events."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from api.conftest import Site
from curtsy.config import load
from curtsy.processes.lock_file import hold_lock
from program.conftest import Programs
from support.engine import until
from support.patience import PATIENCE

Stories = Callable[[int], list[str]]
HEAD = "import json, sys\nimport curtsy\nurls = sys.argv[1:]\n"
WHOLE = (
    HEAD
    + """
with curtsy.Engine("whole.db", LOOPBACK) as engine:
    job = engine.submit(urls, tags=["a"])
    status = job.wait(60)
    events = [one["event"] for one in job.events(timeout=60)]
    crawl = engine.crawl(urls[0], spider="raw").get(60)
    listed = [one.id for one in engine.client.jobs(tag="a")]
    source = next(engine.sources.list())
    engine.sources.set(source.name, requests_per_hour=100)
    streamed = sorted(one.url for one in engine.scrape(urls))
    print(json.dumps([status.state, events[-1], type(crawl[0]).__name__, listed == [job.id],
                      engine.sources.get(source.name).policy.requests_per_hour,
                      streamed == sorted(urls), job.why()["state"], engine.version().name]))
"""
)


async def test_an_engine_is_a_client_of_its_own_service(
    programs: Programs, stories: Stories
) -> None:
    said = await programs.run(WHOLE, *stories(3))
    assert said.json == [
        "succeeded", "job_finished", "RawPage", True, 100, True, "succeeded", "curtsy"
    ]  # fmt: skip


TWO = (
    HEAD
    + """
one, other = curtsy.Engine("two.db", LOOPBACK), curtsy.Engine("two.db", LOOPBACK)
with one as first, other as second, one as third:
    jobs = [engine.submit(url) for engine, url in zip((first, second, third), urls)]
    print(json.dumps([job.wait(60).state for job in jobs]))
"""
)


async def test_several_engines_work_on_one_database(programs: Programs, stories: Stories) -> None:
    assert (await programs.run(TWO, *stories(3))).json == ["succeeded"] * 3


SERVED = (
    HEAD
    + """
try:
    curtsy.scrape(urls, LOOPBACK, database="served.db")
except curtsy.errors.CurtsyError as error:
    print(type(error).__name__, error)
"""
)


async def test_beside_a_service_on_the_same_file_it_says_what_to_do(
    programs: Programs, stories: Stories, tmp_path: Path
) -> None:
    with hold_lock(load(database_url=f"sqlite:///{tmp_path}/served.db")):
        said = await programs.run(SERVED, *stories(1))
    assert said.out.startswith("UpAlready curtsy is up already on")
    assert "`curtsy.Client()`" in said.out
    assert (await programs.run(SERVED, *stories(1))).out == ""


ON_POSTGRES = (
    HEAD
    + """
found = curtsy.scrape(urls[1:], database=urls[0], LOOPBACK)
print(json.dumps([one.cached for one in found.articles]))
"""
)


async def test_an_engine_works_on_postgresql_as_well(
    programs: Programs, stories: Stories, postgres_url: str
) -> None:
    urls = stories(2)
    assert (await programs.run(ON_POSTGRES, postgres_url, *urls)).json == [False, False]
    assert (await programs.run(ON_POSTGRES, postgres_url, *urls)).json == [True, True]


LEFT = (
    HEAD
    + """
with curtsy.Engine("left.db", log_level="ERROR", LOOPBACK) as engine:
    for one in engine.scrape(urls):
        break
    [job] = engine.jobs()
    print(json.dumps([job.state, job.completed < 30]))
"""
)


async def test_whoever_stops_reading_cancels_the_rest(programs: Programs, stories: Stories) -> None:
    assert (await programs.run(LEFT, *stories(30))).json == ["cancelled", True]


SCHEDULED = (
    HEAD
    + """
from datetime import UTC, datetime, timedelta
import time
payload = {"crawl": {"spider": "article", "start_urls": urls}}
with curtsy.Engine("later.db", LOOPBACK) as engine:
    engine.schedules.add(name="soon", payload=payload, at=datetime.now(UTC) + timedelta(seconds=1))
    deadline = time.monotonic() + 60
    while not (slots := list(engine.schedules.runs("soon"))) and time.monotonic() < deadline:
        time.sleep(0.1)
    print(json.dumps([slots[0].outcome, engine.job(slots[0].job_id).wait(60).state]))
"""
)


async def test_schedules_fire_while_an_engine_is_open(programs: Programs, stories: Stories) -> None:
    assert (await programs.run(SCHEDULED, *stories(1))).json == ["fired", "succeeded"]


OPENED = (
    HEAD
    + """
import asyncio
engine = curtsy.Engine("open.db", LOOPBACK).open()
first = engine.scrape(urls)
print(next(first).url in urls, "so far")
engine.close()
engine.close()
try:
    curtsy.Engine().submit
except AttributeError as error:
    print(error)

async def main():
    async with curtsy.Engine("open.db", LOOPBACK) as engine:
        assert {one.url async for one in engine.scrape(urls)} == set(urls)
        job = await engine.submit(urls)
        print([one["event"] async for one in job.events()][-1], (await job.status()).state)

asyncio.run(main())
kept = curtsy.Engine("open.db", LOOPBACK).open()
print(kept.submit(urls[0]).wait(60).state)
"""
)


async def test_an_engine_lives_as_long_as_a_notebook_wants_and_ends_with_the_program(
    programs: Programs, stories: Stories
) -> None:
    said = (await programs.run(OPENED, *stories(2))).out.splitlines()
    assert said[0] == "True so far"
    assert "It is not open: write `with curtsy.Engine() as engine:`" in said[1]
    assert said[2:] == ["job_finished succeeded", "succeeded"]


ON_EXIT = (
    HEAD
    + """
engine = curtsy.Engine("exit.db", LOOPBACK).open()
job = engine.submit(urls)
while job.status.state == "queued":
    pass
print("submitted", flush=True)
"""
)


async def test_a_program_that_ends_with_an_open_engine_stores_the_open_request(
    programs: Programs, site: Site, stories: Stories
) -> None:
    urls = stories(1)
    site.held["/0"] = asyncio.Event()

    async def is_held() -> bool:
        return "/0" in site.asked

    async with programs.start(ON_EXIT, *urls) as program:
        await program.says("submitted")
        await until(is_held, PATIENCE, lambda: "the page was not asked for")
        site.held.pop("/0").set()
        said = await program.ended()
    assert (said.status, said.err) == (0, "")
    again = await programs.run(
        HEAD + "print(json.dumps([one.cached for one in "
        "curtsy.scrape(urls, database='exit.db', LOOPBACK)]))",
        *urls,
    )
    assert again.json == [True]
