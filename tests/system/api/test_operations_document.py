"""The operations document at the API: who works is compared field by field; what its engine
cannot do yet is named here, with the part that will remove it."""

import asyncio
import os
import re
from collections.abc import AsyncIterator

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from api.front import Front, assert_problem
from curtsy import __version__
from curtsy.api.routes.not_built import NOT_YET
from curtsy.frontier.worker_rows import WorkerRow, register
from curtsy.store.version import newest
from support.engine import until

MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
EXPECTED_LATER = {
    "page history": {"GET /pages/{page_id}/history", "GET /pages/{page_id}/diff"},
    "export": {"GET /jobs/{job_id}/export"},
}  # fmt: skip
"""Only ever taken from: what is built leaves this list and the program's."""
OPERATIONS = [
    (part, *operation.split()) for part, operations in NOT_YET.items() for operation in operations
]


POLICIES = {
    "us_state_dept": {"requests_per_hour": 60, "burst_limit": 10, "min_delay_seconds": 1.5},
    "uk_foreign_office": {"requests_per_hour": 120, "burst_limit": 15, "min_delay_seconds": 1.0},
    "canada_travel": {"requests_per_hour": 100, "burst_limit": 12, "min_delay_seconds": 1.2},
}
"""The document's own limits of its sources."""
HOSTS = {"us_state_dept": "travel.state.gov", "uk_foreign_office": "gov.uk",
         "canada_travel": "travel.gc.ca"}  # fmt: skip
HOURS = {"start": 9, "end": 17, "timezone": "America/New_York", "slowdown": 2.0}
ADJUSTED = {"requests_per_hour": 80, "min_delay_seconds": 2.0}


@pytest.mark.parametrize("source", POLICIES)
async def test_the_documents_policies_hold(plain_door: Front, source: str) -> None:
    said = POLICIES[source] | {"respectful_hours": HOURS}
    path = f"/sources/{source}"
    made = await plain_door.ask("PUT", path, json=said | {"hosts": [HOSTS[source]]})
    assert made.status == 201
    assert made.json["hosts"] == [HOSTS[source]]
    rfc3339_or_none = HOURS | {"start": "09:00", "end": "17:00", "closed": False}
    assert made.json["said"] == said | {"respectful_hours": rfc3339_or_none}
    assert made.json["used_this_hour"] == 0
    changed = (await plain_door.ask("PATCH", path, json=ADJUSTED)).json
    assert changed["said"] == made.json["said"] | ADJUSTED, "at runtime, and the rest stays"
    assert (await plain_door.get(path)).json["policy"]["requests_per_hour"] == 80


def test_what_comes_later_is_known_by_name() -> None:
    assert {part: set(operations) for part, operations in NOT_YET.items()} == EXPECTED_LATER


async def test_what_comes_later_says_so_and_with_what(plain_door: Front) -> None:
    for part, method, path in OPERATIONS:
        asked = re.sub(r"\{\w+\}", "us_state_dept", path)
        answer = await plain_door.ask(method, asked)
        assert_problem(answer, 501, "not_built")
        assert answer.json["part"] == part
        assert answer.json["detail"].startswith(f"{method} {asked} is not built yet")


async def test_what_comes_later_is_described_as_nothing_but_that(plain_door: Front) -> None:
    paths = (await plain_door.get("/openapi.json")).json["paths"]
    for _part, method, path in OPERATIONS:
        described = paths[path][method.lower()]
        assert not [status for status in described["responses"] if status < "400"]
        assert "501" in described["responses"]
        named = [parameter["name"] for parameter in described["parameters"]]
        assert named == re.findall(r"\{(\w+)\}", path)


async def test_there_are_no_workers(door: Front) -> None:
    answer = await door.get("/workers")
    assert (answer.status, answer.json) == (200, {"workers": [], "alive": 0})


class SlowSite:
    """It answers when it is told to."""

    def __init__(self) -> None:
        self.url = ""
        self.may_answer = asyncio.Event()

    async def answer(self, _request: web.Request) -> web.Response:
        await self.may_answer.wait()
        return web.Response(text="at last")


@pytest.fixture
async def slow_site() -> AsyncIterator[SlowSite]:
    slow = SlowSite()
    app = web.Application()
    app.router.add_get("/", slow.answer)
    async with TestServer(app) as server:
        slow.url = str(server.make_url("/"))
        yield slow


async def test_a_worker_is_shown_with_what_it_holds(door: Front, slow_site: SlowSite) -> None:
    async with door.engine.worker():
        job = (await door.submit(slow_site.url)).json["id"]
        [page] = await door.engine.query("SELECT page_id FROM items")

        async def told() -> bool:
            found = (await door.get("/workers")).json["workers"]
            return any(worker["in_flight"] for worker in found)

        await until(told, 10, lambda: "no heartbeat told of the page")
        listed = (await door.get("/workers")).json
        queue = (await door.get("/jobs/queue/status")).json["data"]
        slow_site.may_answer.set()
        await door.ended(job)
    [worker] = listed.pop("workers")
    assert listed == {"alive": 1}
    assert re.fullmatch(r"w_[0-9a-f]{12}", worker.pop("id"))
    for moment in ("started_at", "lease_until"):
        assert MOMENT.fullmatch(worker.pop(moment))
    assert worker.pop("machine")
    assert worker.pop("program")
    assert worker.pop("memory_bytes") > 2**20
    assert worker == {
        "pid": os.getpid(), "process": None, "alive": True, "draining": False, "in_flight": 1,
        "pages": [f"art_{page.page_id:x}"], "leases": 1,
    }  # fmt: skip
    assert (queue["in_flight"], queue["bands"]["medium"]["waiting"]) == (1, 0)


async def test_a_worker_that_is_silent_is_not_alive(door: Front) -> None:
    now = door.engine.clock.now()
    for name, until_ in (("w_quiet", now - 1), ("w_well", now + 60_000)):
        row = WorkerRow(name, "here", 7, "curtsy")
        await door.engine.store.write(
            lambda c, r=row, u=until_: register(c, r, lease_until=u, now=now)
        )
    await door.engine.execute("UPDATE workers SET in_flight = '[1, 2, 3]'")
    listed = (await door.get("/workers")).json
    assert {w["id"]: w["alive"] for w in listed["workers"]} == {"w_quiet": False, "w_well": True}
    assert listed["alive"] == 1
    status = (await door.get("/jobs/queue/status")).json["data"]
    assert (status["workers"], status["in_flight"]) == (1, 3)


async def test_the_version(plain_door: Front) -> None:
    told = {"name": "curtsy", "version": __version__, "program_schema": newest()}
    assert (await plain_door.get("/version")).json == told
