"""Who has no key may send next to nothing: no body is read before its key is known."""

import asyncio
import json
from typing import Any

import pytest

from api.front import Front
from api.visitors import MovableClock, visitor
from curtsy.api.auth.permissions import role_needed
from curtsy.api.middleware.request_limits import MAX_KEYLESS_BODY_BYTES
from curtsy.clock import SECOND
from support.patience import PATIENCE

MIB = 2**20


async def head_only(
    door: Front, method: str, path: str, length: int, *more: str
) -> tuple[int, Any]:
    """The answer to a request of which nothing but the head is ever sent."""
    host, _, port = door.url.removeprefix("http://").rpartition(":")
    lines = (f"{method} {path} HTTP/1.1", "Host: localhost", "Content-Type: application/json",
             f"Content-Length: {length}", "Expect: 100-continue", "", "")  # fmt: skip
    async with asyncio.timeout(PATIENCE):
        reader, writer = await asyncio.open_connection(host, int(port))
        try:
            writer.write("\r\n".join(lines).encode())
            head = await reader.readuntil(b"\r\n\r\n")
            status = int(head.split()[1])
            return status, json.loads(await reader.readuntil(b"}")) if status != 100 else None
        finally:
            writer.close()


async def test_without_a_key_no_route_reads_a_body(guarded: Front, movable: MovableClock) -> None:
    await visitor(guarded)
    movable.advance(SECOND)
    document = (await guarded.get("/openapi.json")).json
    asked = [
        (method.upper(), path.replace("{", "").replace("}", ""))
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
        if "requestBody" in operation or method in ("post", "put", "patch", "delete")
    ]
    assert len(asked) > 25
    needing = [one for one in (*asked, ("POST", "/nothing")) if role_needed(*one) is not None]
    assert set(asked) - set(needing) == {("POST", "/session")}
    for method, path in needing:
        status, problem = await head_only(guarded, method, path, 60 * MIB)
        assert (status, problem["code"]) == (401, "key_needed"), (method, path)


async def test_a_session_is_asked_for_in_a_kibibyte(guarded: Front) -> None:
    ann = await visitor(guarded)
    most = MAX_KEYLESS_BODY_BYTES
    status, problem = await head_only(guarded, "POST", "/session", most + 1)
    assert (status, problem["code"], problem["detail"]) == (
        413, "too_large", f"The body is larger than {most} bytes."
    )  # fmt: skip
    assert (await head_only(guarded, "POST", "/session", most))[0] == 100
    body = json.dumps({"key": ann.key}).encode()
    assert (await guarded.ask("POST", "/session", **sent(body.ljust(most)))).status == 201


@pytest.mark.parametrize("with_length", [True, False], ids=["stated", "in chunks"])
async def test_a_longer_body_without_a_key_is_not_read_on(
    guarded: Front, with_length: bool
) -> None:
    body = b'{"key": "' + b"x" * 10_000 + b'"}'

    async def in_chunks() -> Any:
        for at in range(0, len(body), 500):
            yield body[at : at + 500]

    refused = await guarded.ask("POST", "/session", **sent(body if with_length else in_chunks()))
    assert (refused.status, refused.json["code"]) == (413, "too_large")


def sent(body: Any) -> dict[str, Any]:
    return {"data": body, "headers": {"Content-Type": "application/json"}}
