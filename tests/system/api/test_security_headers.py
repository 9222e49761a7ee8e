"""Every response tells browsers to trust it with nothing: pages, data, streams and refusals."""

import asyncio
import re
from base64 import b64encode
from hashlib import sha256
from typing import Any

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from api.conftest import Site
from api.front import Front, front
from api.real_things import make_things
from api.visitors import MovableClock, visitor
from curtsy.api.auth.access_rules import AccessRules
from curtsy.api.middleware.request_limits import MAX_HEAD_BYTES
from curtsy.clock import SECOND
from curtsy.processes import http_server
from curtsy.store import Store
from support.engine import engine
from support.patience import PATIENCE

HANDSHAKE = ("Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13")


def assert_guarded(headers: Any, where: object = "") -> None:
    given = {name.lower(): value for name, value in dict(headers).items()}
    assert given["x-content-type-options"] == "nosniff", where
    assert given["referrer-policy"] == "no-referrer", where
    assert given["cross-origin-resource-policy"] == "same-origin", where
    policy = [part.strip() for part in given["content-security-policy"].split(";")]
    assert {"default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'"} <= set(policy), where
    assert "unsafe" not in given["content-security-policy"], where
    assert "http" not in given["content-security-policy"], where
    assert "cache-control" in given, where


async def test_every_operation_answers_with_the_headers(working: Front, site: Site) -> None:
    things = await make_things(working, site)
    document = (await working.get("/openapi.json")).json
    asked = 0
    for path, operations in document["paths"].items():
        for method in operations:
            for values in things.for_path(path)[:1] or [{}]:
                url = working.url + path.format(**values) if values else working.url + path
                async with working.session.request(method, url) as answer:
                    assert_guarded(answer.headers, (method, path, answer.status))
                    if answer.content_type != "text/event-stream":
                        await answer.read()
                    assert answer.headers["Cache-Control"] == "no-store", (method, path)
                    asked += 1
    assert asked > 50


async def test_refusals_have_them_too(guarded: Front, movable: MovableClock) -> None:
    statuses = set()
    for method, path, headers in (
        ("GET", "/nothing", {}), ("PATCH", "/jobs", {}), ("GET", "/jobs/job_x", {}),
        ("GET", "/jobs?limit=0", {}), ("GET", "/jobs?q=%00", {}), ("GET", "/jobs%00", {}),
        ("GET", "/jobs", {"Host": "evil.example"}), ("GET", "/docs/x.js", {}),
        ("GET", "/jobs", {"Origin": "http://evil.example"}), ("GET", "/jobs", {"Via": "1.1 x"}),
        ("OPTIONS", "/jobs", {}), ("HEAD", "/health", {}),
        ("POST", "/session", {"Content-Length": "9999"}),
    ):  # fmt: skip
        async with guarded.session.request(method, guarded.url + path, headers=headers) as answer:
            assert_guarded(answer.headers, (method, path, headers))
            statuses.add(answer.status)
    assert {200, 401, 403, 404, 405, 413, 422} <= statuses


async def test_an_internal_error_has_them(
    plain_door: Front, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fails(*_: Any) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(plain_door.backend, "read", fails)
    answer = await plain_door.get("/jobs")
    assert answer.status == 500
    assert_guarded(answer.headers)


def request(*lines: str) -> bytes:
    return "\r\n".join((*lines, "", "")).encode()


RAW = {
    "no HTTP": (b"hello\r\n\r\n", 400),
    "another version": (request("GET / HTTP/2.0", "Host: localhost"), 505),
    "a long head": (request("GET / HTTP/1.1", "x: " + "x" * 2 * MAX_HEAD_BYTES), 431),
    "a slow head": (b"GET / HTTP/1.1\r\n", 408),
    "no handshake": (request("GET /ws HTTP/1.1", "Host: localhost", *HANDSHAKE), 400),
    "a wrong key": (
        request("GET /ws HTTP/1.1", "Host: localhost", *HANDSHAKE, "Sec-WebSocket-Key: x"), 400
    ),
    "too many header lines": (
        request("GET /ws HTTP/1.1", "Host: localhost", *HANDSHAKE, *["x: y"] * 300), 400
    ),
    "a handshake to post": (request("POST /ws HTTP/1.1", "Host: localhost", *HANDSHAKE), 405),
}  # fmt: skip


@pytest.mark.parametrize("name", RAW)
async def test_what_no_application_answers_has_them(
    plain_door: Front, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if name == "a slow head":
        monkeypatch.setattr(http_server, "HEAD_SECONDS", 0.5)
    sent, status = RAW[name]
    host, _, port = plain_door.url.removeprefix("http://").rpartition(":")
    async with asyncio.timeout(PATIENCE):
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(sent)
        head = (await reader.readuntil(b"\r\n\r\n")).decode().splitlines()
        writer.close()
    assert int(head[0].split()[1]) == status
    headers = dict(line.split(": ", 1) for line in head[1:] if line)
    assert_guarded(headers)
    assert headers["content-type"] == "application/problem+json"


async def test_a_refused_websocket_has_them(guarded: Front, movable: MovableClock) -> None:
    await visitor(guarded)
    movable.advance(SECOND)
    with pytest.raises(InvalidStatus) as refused:
        async with connect(guarded.url.replace("http", "ws") + "/ws"):
            pass
    assert refused.value.response.status_code == 401
    assert_guarded(refused.value.response.headers)


async def test_a_stream_has_them(plain_door: Front) -> None:
    async with plain_door.session.get(f"{plain_door.url}/events") as stream:
        assert stream.content_type == "text/event-stream"
        assert_guarded(stream.headers)


async def test_the_parts_of_the_documentation_may_be_stored_by_browsers(plain_door: Front) -> None:
    for name in ("swagger-ui-bundle.js", "swagger-ui.css"):
        async with plain_door.session.get(f"{plain_door.url}/docs/{name}") as answer:
            assert answer.headers["Cache-Control"] == "max-age=86400"
            assert_guarded(answer.headers)


async def test_pages_of_named_origins_still_read_answers(
    store: Store, movable: MovableClock
) -> None:
    partner = "https://partner.example"
    rules = AccessRules(origins=(partner,))
    async with front(store, engine(store, movable), access_rules=rules) as door:
        answer = await door.ask("GET", "/jobs", headers={"Origin": partner})
        assert answer.headers["access-control-allow-origin"] == partner
        assert_guarded(answer.headers)


def allowed(policy: str, kind: str) -> list[str]:
    [part] = [part.split() for part in policy.split(";") if part.split()[0] == kind]
    return part[1:]


def assert_only_hashed(page: str, tag: str, sources: list[str]) -> None:
    """What the page has in its text, the policy names; nothing else is allowed beside ours."""
    inline = re.findall(f"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
    hashes = {f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'" for text in inline}
    assert set(sources) - {"'self'"} == hashes


async def test_the_page_of_the_documentation_runs_no_script_but_its_own(plain_door: Front) -> None:
    async with plain_door.session.get(f"{plain_door.url}/docs") as answer:
        policy, page = answer.headers["Content-Security-Policy"], await answer.text()
        assert_guarded(answer.headers)
    assert_only_hashed(page, "script", allowed(policy, "script-src"))
    assert_only_hashed(page, "style", allowed(policy, "style-src"))
    assert " style=" not in page
    assert not re.search(r" on[a-z]+=", page)


async def test_the_page_of_a_receipt_has_its_style_and_no_script(
    plain_door: Front,
) -> None:
    described = await plain_door.ask("PUT", "/sources/a.example", json={})
    assert described.status == 201, described
    url = f"{plain_door.url}/sources/a.example/receipt"
    async with plain_door.session.get(url, headers={"Accept": "text/html"}) as answer:
        policy, page = answer.headers["Content-Security-Policy"], await answer.text()
        assert_guarded(answer.headers)
    assert answer.content_type == "text/html"
    assert_only_hashed(page, "style", allowed(policy, "style-src"))
    assert "script-src" not in policy
    assert " style=" not in page
