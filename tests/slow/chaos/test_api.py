"""The API killed while thousands of requests are under way."""

import asyncio
from collections import Counter

from chaos.client import Client
from chaos.world import World, world
from curtsy.demo.process import PracticeProcess
from support.engine import until
from support.postgres import free_port
from support.processes import Fleet, Process

REQUESTS = 600
FEW, ROUNDS = 4, 12
"""Until a death comes between a request and its answer, and between a commit and its answer."""


async def started(made: World, port: int, *, without: str | None = None) -> Process:
    api = made.fleet.api(port, without=without, db_pool_size=10)
    await until(lambda: _said(api, 1), 30, api.tail)
    return api


async def killed_under_way(
    made: World, client: Client, api: Process, *, requests: int, deaths: int
) -> None:
    """Every request is repeated until it is answered; the API dies meanwhile, and is back."""
    urls = made.pages(50, requests // 50, plain=True)
    answers = [asyncio.create_task(client.submitted(url)) for url in urls]
    for death in range(1, deaths + 1):
        enough = requests * death // 5

        async def under_way(enough: int = enough) -> bool:
            return sum(answer.done() for answer in answers) >= enough

        await until(under_way, 60, api.tail)
        api.kill()
        api.start()
    made.jobs += await asyncio.gather(*answers)


async def _said(api: Process, times: int) -> bool:
    return len(api.logged("api_started")) >= times


async def test_every_acknowledged_job_survives_the_api_and_a_repeated_request_makes_no_second(
    fleet: Fleet, practice: PracticeProcess, postgres_url: str
) -> None:
    async with world(postgres_url, fleet, practice) as made:
        port = free_port()
        api = await started(made, port)
        async with Client(port) as client:
            while not client.unanswered and len(made.jobs) < FEW * REQUESTS:
                await killed_under_way(made, client, api, requests=REQUESTS, deaths=1)
        assert len(set(made.jobs)) == len(made.jobs) >= REQUESTS
        fleet.worker()
        reckoning = await made.reckoning(60)
        print(f"{client.unanswered} requests got no answer; {reckoning}")
        assert reckoning.violations == []
        assert client.unanswered > 0, "the deaths went unnoticed"


async def test_without_their_key_repeated_requests_make_jobs_that_nobody_knows_of(
    fleet: Fleet, practice: PracticeProcess, postgres_url: str
) -> None:
    async with world(postgres_url, fleet, practice) as made:
        port = free_port()
        api = await started(made, port, without="idempotency_key")
        async with Client(port) as client:
            for _ in range(ROUNDS):
                await killed_under_way(made, client, api, requests=300, deaths=3)
                reckoning = await made.now_reckoned()
                found = [v for v in reckoning.violations if "nobody was told of" in v]
                print(f"{client.unanswered} requests got no answer; {found}")
                if found:
                    return
    raise AssertionError("no request was repeated that had been taken in")


PAGES = 1_000
AT_ONCE = 100


def spellings(url: str) -> list[str]:
    """Five ways to say the same page."""
    scheme, rest = url.split("://")
    host, path = rest.split("/", 1)
    return [
        f"{url}?a=1&b=2", f"{url}?b=2&a=1", f"{url}?a=1&b=2#part",
        f"{scheme.upper()}://{host}/./{path}?a=1&b=2", f"{scheme}://{host}/x/../{path}?b=2&a=1",
    ]  # fmt: skip


async def test_pages_in_five_spellings_are_fetched_once_although_the_api_dies(
    patient_fleet: Fleet, practice: PracticeProcess, postgres_url: str
) -> None:
    fleet = patient_fleet  # whose worker asks for nothing again because it stood still
    async with world(postgres_url, fleet, practice) as made:
        port = free_port()
        api = await started(made, port)
        fleet.worker()
        pages = made.pages(50, PAGES // 50, plain=True)
        urls = [spelling for page in pages for spelling in spellings(page)]
        made.rng.shuffle(urls)
        room = asyncio.Semaphore(AT_ONCE)
        answered = 0

        async def submit(url: str) -> str:
            nonlocal answered
            async with room:
                job = await client.submitted(url, max_age=3_600)
                answered += 1
                return job

        async def half_way() -> bool:
            return answered >= len(urls) // 2

        async with Client(port) as client:
            answers = [asyncio.create_task(submit(url)) for url in urls]
            await until(half_way, 120, api.tail)
            api.kill()
            api.start()
            made.jobs += await asyncio.gather(*answers)
        assert len(set(made.jobs)) == len(urls)
        reckoning = await made.reckoning(120)
        print(f"{client.unanswered} requests got no answer; {reckoning}")
        assert reckoning.violations == []
        asked = Counter(entry.path for entry in practice.entries() if entry.path in of(pages))
        assert asked == dict.fromkeys(of(pages), 1)
        assert client.unanswered > 0, "the death went unnoticed"


def of(pages: list[str]) -> set[str]:
    """Paths as the site is asked for them: numbers of pages are never used twice."""
    return {f"/{page.split('/', 3)[3]}?a=1&b=2" for page in pages}
