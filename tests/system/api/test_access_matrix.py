"""Every route, each role, one's own and somebody else's: who may, and what the others learn.

The table is a list of decisions. A route that is not in it fails the first test: decide who may
use it, in `curtsy.api.auth.permissions` where the default will not do, and write it down here.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, Literal

import pytest
from starlette.routing import Route, WebSocketRoute
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.frames import Close

from api.front import Front, front
from api.visitors import Visitor, visitor
from curtsy.api.app import create_app
from curtsy.clock import Clock
from curtsy.model.roles import Role
from curtsy.store import Store
from support.engine import engine

Of = Literal["job", "page", "nothing"]
R, S, O, A = Role.READ, Role.SUBMIT, Role.OPERATE, Role.ADMIN  # noqa: E741

DECISIONS: dict[tuple[str, str], tuple[Role | None, Of]] = {
    ("GET", "/health"): (None, "nothing"),
    ("GET", "/health/live"): (None, "nothing"),
    ("GET", "/health/ready"): (None, "nothing"),
    ("GET", "/version"): (None, "nothing"),
    ("GET", "/openapi.json"): (None, "nothing"),
    ("GET", "/docs"): (None, "nothing"),
    ("GET", "/docs/{name}"): (None, "nothing"),
    ("POST", "/session"): (None, "nothing"),
    ("GET", "/session"): (R, "nothing"),
    ("DELETE", "/session"): (R, "nothing"),
    ("GET", "/jobs"): (R, "nothing"),
    ("GET", "/jobs/"): (R, "nothing"),
    ("POST", "/jobs"): (S, "nothing"),
    ("POST", "/jobs/"): (S, "nothing"),
    ("POST", "/jobs/submit"): (S, "nothing"),
    ("POST", "/crawl"): (S, "nothing"),
    ("POST", "/discover"): (S, "nothing"),
    ("GET", "/jobs/{job_id}"): (R, "job"),
    ("GET", "/jobs/{job_id}/status"): (R, "job"),
    ("GET", "/jobs/{job_id}/results"): (R, "job"),
    ("GET", "/jobs/{job_id}/logs"): (R, "job"),
    ("GET", "/jobs/{job_id}/why"): (R, "job"),
    ("GET", "/jobs/{job_id}/performance"): (R, "job"),
    ("GET", "/jobs/{job_id}/export"): (R, "job"),
    ("GET", "/jobs/{job_id}/webhooks"): (R, "job"),
    ("POST", "/jobs/{job_id}/webhooks/{delivery}/replay"): (S, "job"),
    ("GET", "/webhooks/secret"): (S, "nothing"),
    ("POST", "/webhooks/secret/rotate"): (S, "nothing"),
    ("POST", "/jobs/{job_id}/retry"): (S, "job"),
    ("POST", "/jobs/{job_id}/pause"): (S, "job"),
    ("POST", "/jobs/{job_id}/resume"): (S, "job"),
    ("DELETE", "/jobs/{job_id}"): (S, "job"),
    ("SOCKET", "/ws/jobs/{job_id}"): (R, "job"),
    ("SOCKET", "/ws"): (R, "nothing"),
    ("GET", "/events"): (R, "nothing"),
    ("GET", "/pages/{page_id}"): (R, "page"),
    ("GET", "/pages/{page_id}/why"): (R, "page"),
    ("GET", "/pages/{page_id}/history"): (R, "page"),
    ("GET", "/pages/{page_id}/diff"): (R, "page"),
    ("GET", "/jobs/sites"): (R, "nothing"),
    ("POST", "/jobs/scrape"): (S, "nothing"),
    ("GET", "/jobs/scrape/{run_id}"): (R, "job"),
    ("GET", "/jobs/queue/status"): (R, "nothing"),
    ("GET", "/jobs/health"): (R, "nothing"),
    ("POST", "/scheduler/run"): (O, "nothing"),
    ("GET", "/scheduler/status"): (R, "nothing"),
    ("GET", "/scheduler/plan"): (R, "nothing"),
    ("GET", "/schedules"): (R, "nothing"),
    ("POST", "/schedules"): (S, "nothing"),
    ("GET", "/schedules/{schedule_id}"): (R, "nothing"),
    ("PATCH", "/schedules/{schedule_id}"): (S, "nothing"),
    ("DELETE", "/schedules/{schedule_id}"): (S, "nothing"),
    ("GET", "/schedules/{schedule_id}/runs"): (R, "nothing"),
    ("POST", "/schedules/{schedule_id}/run"): (S, "nothing"),
    ("POST", "/schedules/{schedule_id}/pause"): (S, "nothing"),
    ("POST", "/schedules/{schedule_id}/resume"): (S, "nothing"),
    ("GET", "/dead-letters"): (R, "nothing"),
    ("GET", "/dead-letters/{letter_id}"): (R, "nothing"),
    ("POST", "/dead-letters/retry"): (O, "nothing"),
    ("POST", "/dead-letters/resolve"): (O, "nothing"),
    ("POST", "/dead-letters/{letter_id}/retry"): (O, "nothing"),
    ("POST", "/dead-letters/{letter_id}/resolve"): (O, "nothing"),
    ("GET", "/cleanup"): (O, "nothing"),
    ("POST", "/cleanup"): (A, "nothing"),
    ("GET", "/sources"): (R, "nothing"),
    ("GET", "/sources/{source_name}"): (R, "nothing"),
    ("PUT", "/sources/{source_name}"): (O, "nothing"),
    ("PATCH", "/sources/{source_name}"): (O, "nothing"),
    ("DELETE", "/sources/{source_name}"): (O, "nothing"),
    ("POST", "/sources/{source_name}/pause"): (O, "nothing"),
    ("POST", "/sources/{source_name}/resume"): (O, "nothing"),
    ("GET", "/sources/{source_name}/why"): (O, "nothing"),
    ("GET", "/sources/{source_name}/receipt"): (O, "nothing"),
    ("PUT", "/sites/{site_name}"): (O, "nothing"),
    ("GET", "/sites/{site_name}"): (R, "nothing"),
    ("DELETE", "/sites/{site_name}"): (O, "nothing"),
    ("GET", "/sites/{site_name}/records"): (R, "nothing"),
    ("GET", "/workers"): (O, "nothing"),
    ("GET", "/metrics"): (O, "nothing"),
    ("GET", "/stats"): (O, "nothing"),
    ("GET", "/reports"): (O, "nothing"),
    ("POST", "/reports"): (O, "nothing"),
    ("GET", "/reports/latest"): (O, "nothing"),
    ("GET", "/reports/{report_id}"): (O, "nothing"),
    ("GET", "/alerts"): (O, "nothing"),
    ("GET", "/alerts/rules"): (O, "nothing"),
    ("GET", "/alerts/rules/{rule}"): (O, "nothing"),
    ("PUT", "/alerts/rules/{rule}"): (O, "nothing"),
    ("DELETE", "/alerts/rules/{rule}"): (O, "nothing"),
    ("GET", "/alerts/channels"): (O, "nothing"),
    ("POST", "/alerts/test"): (O, "nothing"),
    ("POST", "/alerts/{rule}/mute"): (O, "nothing"),
    ("POST", "/alerts/{rule}/unmute"): (O, "nothing"),
}
OTHERS = {"name": "swagger-ui.css", "letter_id": "1", "source_name": "a.example",
          "site_name": "a_site", "schedule_id": "1", "delivery": "1",
          "report_id": "rep_00000000ffff", "rule": "limit_use"}  # fmt: skip

HAVE_NONE = ("{delivery}",)
"""What none of the jobs here has, so that it is not found even by its owner."""
SITE = {"search_url": "http://site.example/", "recipe": {"record": "li", "fields": {"a": "a"}}}
UNKNOWN = {"job_id": "job_00000000ffff", "run_id": "job_00000000ffff", "page_id": "art_ffff"}


def routes() -> set[tuple[str, str]]:
    app = create_app(None)  # type: ignore[arg-type]  # its routes need no desk
    found: set[tuple[str, str]] = set()
    for route in app.routes:
        if isinstance(route, WebSocketRoute):
            found.add(("SOCKET", route.path))
        else:
            assert isinstance(route, Route)
            found |= {(method, route.path) for method in route.methods or () if method != "HEAD"}
    return found


@dataclass(frozen=True)
class Heard:
    """All that a caller learns."""

    status: int
    body: str = ""
    headers: dict[str, str] = field(default_factory=dict)

    def without(self, *names: str) -> "Heard":
        body = self.body
        for name in filter(None, names):
            body = body.replace(name, "ID")
        return Heard(self.status, body, self.headers)


async def ask(door: Front, method: str, path: str, headers: dict[str, str]) -> Heard:
    if method == "SOCKET":
        return await listen(door, path, headers)
    async with door.session.request(method, door.url + path, headers=headers, json={}) as reply:
        told = {n: v for n, v in reply.headers.items() if n not in ("Date", "Content-Length")}
        streams = reply.content_type == "text/event-stream"
        return Heard(reply.status, "" if streams else await reply.text(), told)


async def listen(door: Front, path: str, headers: dict[str, str]) -> Heard:
    """A socket as an answer: what would be its status."""
    url = door.url.replace("http://", "ws://") + path
    try:
        async with connect(url, additional_headers=headers) as socket:
            return Heard(200, str(await socket.recv()))
    except InvalidStatus as refused:
        answer = refused.response
        return Heard(answer.status_code, (answer.body or b"").decode())
    except ConnectionClosed as closed:
        end = closed.rcvd or Close(0, "")
        return Heard(end.code - 4000, end.reason)


@dataclass
class House:
    """An API with a visitor of each role, and things of theirs and of a stranger's."""

    door: Front
    visitors: dict[Role, Visitor]
    stranger: Visitor
    makers: dict[str, Visitor]
    """By each one's key: the same user, who may also submit."""
    made: int = 0

    async def thing(self, owner: Visitor, pattern: str = "") -> dict[str, str]:
        """A new job with a page of its own; where it matters, a run of the site."""
        self.made += 1
        url = f"http://h{self.made}.example/"
        job = await self.makers[owner.key].job(url)
        [page] = await self.door.engine.query("SELECT id FROM pages WHERE url = :url", url=url)
        run = await self._run(self.makers[owner.key]) if "{run_id}" in pattern else ""
        return {"job_id": job, "run_id": run, "page_id": f"art_{page.id:x}"}

    async def _run(self, owner: Visitor) -> str:
        """It has ended, so that another can begin."""
        made = await owner.ask("POST", "/jobs/scrape", json={"site_name": OTHERS["site_name"]})
        assert made.status == 200, made
        ended = "UPDATE jobs SET state = 'cancelled', finished_at = 1 WHERE public_id = :run"
        await self.door.engine.execute(ended, run=made.json["data"]["run_id"])
        return str(made.json["data"]["run_id"])


@pytest.fixture
async def house(sqlite_url: str) -> AsyncIterator[House]:
    clock = Clock()
    async with Store(sqlite_url) as store, front(store, engine(store, clock)) as door:
        visitors = {role: await visitor(door, role.word, role) for role in Role}
        makers = {one.key: await visitor(door, role.word) for role, one in visitors.items()}
        stranger = await visitor(door, "stranger")
        declared = await visitors[Role.ADMIN].ask("PUT", f"/sites/{OTHERS['site_name']}", json=SITE)
        assert declared.status == 201, declared
        yield House(door, visitors, stranger, makers | {stranger.key: stranger})


def path_of(pattern: str, thing: dict[str, str]) -> str:
    return pattern.format(**OTHERS | thing)


def test_every_route_is_decided_and_every_decision_has_a_route() -> None:
    assert routes() == set(DECISIONS)


CASES = sorted(DECISIONS.items(), key=str)


@pytest.mark.parametrize(("route", "decision"), CASES, ids=lambda v: " ".join(map(str, v)))
async def test_who_may_and_what_the_others_learn(
    house: House, route: tuple[str, str], decision: tuple[Role | None, Of]
) -> None:
    (method, pattern), (needed, of) = route, decision
    anonymous = await ask(house.door, method, path_of(pattern, UNKNOWN), {})
    assert (anonymous.status == 401) == (needed is not None), anonymous
    for role, one in house.visitors.items():
        if needed is not None and role < needed:
            await _learns_nothing(house, one, method, pattern)
            continue
        own_thing = await house.thing(one, pattern)
        own = await ask(house.door, method, path_of(pattern, own_thing), one.headers)
        assert own.status not in (401, 403, 500), (role, own)
        if of != "nothing":
            assert own.status != 404 or any(n in pattern for n in HAVE_NONE), (role, own)
            await _strangers_things(house, one, role, method, pattern)


async def _learns_nothing(house: House, one: Visitor, method: str, pattern: str) -> None:
    """Whose role is too small gets one answer, whatever there is and whosever it is."""
    heard = [
        (await ask(house.door, method, path_of(pattern, thing), one.headers)).without(
            *thing.values()
        )
        for thing in (
            await house.thing(one, pattern),
            await house.thing(house.stranger, pattern),
            UNKNOWN,
        )
    ]
    assert heard[0].status == 403
    assert heard[0] == heard[1] == heard[2]


async def _strangers_things(
    house: House, one: Visitor, role: Role, method: str, pattern: str
) -> None:
    theirs = await house.thing(house.stranger, pattern)
    before = await _rows(house, theirs["job_id"])
    heard = (await ask(house.door, method, path_of(pattern, theirs), one.headers)).without(
        *theirs.values()
    )
    unknown = (await ask(house.door, method, path_of(pattern, UNKNOWN), one.headers)).without(
        *UNKNOWN.values()
    )
    if role >= Role.OPERATE:
        assert heard.status not in (401, 403), (role, heard)
        assert heard != unknown or heard.status == 501, (role, heard)
    else:
        assert heard == unknown, role
        assert heard.status in (404, 501)
        assert await _rows(house, theirs["job_id"]) == before, "and nothing was done to it"


async def _rows(house: House, job: str) -> Any:
    return [tuple(row) for row in await house.door.engine.query(
        "SELECT * FROM jobs WHERE public_id = :job", job=job)]  # fmt: skip


BEGINNING = {"Last-Event-ID": "0-0"}


async def on_a_socket(door: Front, headers: dict[str, str]) -> AsyncGenerator[dict[str, Any]]:
    url = door.url.replace("http://", "ws://") + "/ws?after=0-0"
    async with connect(url, additional_headers=headers) as socket:
        while True:
            message = json.loads(await socket.recv())
            if message["event"] != "state":
                yield message


async def in_a_stream(door: Front, headers: dict[str, str]) -> AsyncGenerator[dict[str, Any]]:
    async with door.session.get(f"{door.url}/events", headers=headers | BEGINNING) as reply:
        async for line in reply.content:
            if line.startswith(b"data: "):
                yield json.loads(line.removeprefix(b"data: "))


async def on_a_page(door: Front, headers: dict[str, str]) -> AsyncGenerator[dict[str, Any]]:
    asked = headers | BEGINNING | {"Accept": "application/json"}
    async with door.session.get(f"{door.url}/events", headers=asked) as reply:
        for event in (await reply.json())["events"]:
            yield event


@pytest.mark.parametrize("tell", [on_a_socket, in_a_stream, on_a_page])
async def test_a_feed_of_all_jobs_tells_each_only_of_its_own(
    house: House, tell: Callable[..., AsyncGenerator[dict[str, Any]]]
) -> None:
    for role, one in house.visitors.items():
        theirs, own = await house.thing(house.stranger), await house.thing(one)
        seen: set[str] = set()
        async with aclosing(tell(house.door, one.headers)) as events, asyncio.timeout(60):
            async for event in events:
                seen.add(event["job_id"])
                if event["job_id"] == own["job_id"]:
                    break
        assert own["job_id"] in seen
        assert (theirs["job_id"] in seen) == (role >= Role.OPERATE)
        if role < Role.OPERATE:
            users = await house.door.engine.query("SELECT public_id, user_id FROM jobs")
            assert {row.user_id for row in users if row.public_id in seen} == {role.word}


async def test_a_page_that_was_fetched_for_both_is_seen_by_both(house: House) -> None:
    ann, bob = (house.makers[house.visitors[role].key] for role in (Role.READ, Role.SUBMIT))
    shared, hers = "http://shared.example/", "http://hers.example/"
    await ann.job(shared, hers)
    await bob.job(shared)
    await house.door.engine.execute("UPDATE items SET state = 1")
    for one, url, status in ((ann, shared, 200), (bob, shared, 200), (ann, hers, 200),
                             (bob, hers, 404)):  # fmt: skip
        [page] = await house.door.engine.query("SELECT id FROM pages WHERE url = :url", url=url)
        assert (await one.get(f"/pages/art_{page.id:x}")).status == status
