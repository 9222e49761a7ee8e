"""The OpenAPI document as those read it who make clients from it: names, examples, errors."""

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from api.front import Front, assert_problem
from api.test_access_matrix import DECISIONS
from api.test_articles_document import SUBMIT
from api.test_crawl_document import AS_WRITTEN
from api.test_fetch_document import ASKED
from api.test_runs_document import ASYNC_EXAMPLE, SYNC_EXAMPLE
from api.visitors import visitor
from curtsy.api.app import create_app
from curtsy.model.roles import Role
from support.patience import PATIENCE

DOCUMENT: dict[str, Any] = create_app(None).openapi()  # type: ignore[arg-type]  # needs no desk
OPERATIONS = [
    (method.upper(), path, operation)
    for path, operations in DOCUMENT["paths"].items()
    for method, operation in operations.items()
]
NAMES = [operation["operationId"] for _method, _path, operation in OPERATIONS]
VERBS = {
    "cancel", "close", "create", "delete", "explain", "export", "follow", "get", "list", "mute",
    "open", "pause", "put", "replay", "resolve", "resume", "retry", "rotate", "run", "scrape",
    "submit", "unmute", "update",
}  # fmt: skip
REFERENCE = (Path(__file__).parents[3] / "docs/reference/api.md").read_text()
EXAMPLES = [
    (name, example)
    for name, schema in DOCUMENT["components"]["schemas"].items()
    for example in schema.get("examples", ())
]


def body_of(operation: dict[str, Any]) -> dict[str, Any]:
    """The schema of what is sent."""
    at = operation["requestBody"]["content"]["application/json"]["schema"]["$ref"]
    found: dict[str, Any] = DOCUMENT["components"]["schemas"][at.rpartition("/")[2]]
    return found


def operation(name: str) -> dict[str, Any]:
    [found] = [one for _method, _path, one in OPERATIONS if one["operationId"] == name]
    return found


def concrete(path: str) -> str:
    return re.sub(r"\{\w+\}", "1", path)


def test_every_operation_has_a_name_that_a_client_can_use() -> None:
    assert len(NAMES) > 50
    assert len(set(NAMES)) == len(NAMES)
    for name in NAMES:
        verb, *words = name.split("_")
        assert verb in VERBS, name
        assert words, name
        assert len(words) <= 3, name
        assert words[-1] not in ("get", "post", "put", "patch", "delete"), name
        assert re.fullmatch(r"[a-z_]+", name), name


def test_every_operation_says_what_it_does() -> None:
    assert [name for name in NAMES if not operation(name).get("description")] == []


@pytest.mark.parametrize(
    ("name", "example"),
    [("submit_articles", SUBMIT), ("submit_crawl", AS_WRITTEN), ("scrape_site", ASYNC_EXAMPLE),
     ("scrape_site", SYNC_EXAMPLE), ("submit_url", ASKED)],
)  # fmt: skip
def test_the_documents_own_requests_are_the_examples(name: str, example: dict[str, Any]) -> None:
    assert example in body_of(operation(name))["examples"]


def test_every_body_has_an_example() -> None:
    with_a_body = [one for _method, _path, one in OPERATIONS if "requestBody" in one]
    assert len(with_a_body) >= 7
    assert [one["operationId"] for one in with_a_body if not body_of(one).get("examples")] == []


@pytest.mark.parametrize(("name", "example"), EXAMPLES, ids=lambda value: str(value)[:40])
def test_an_example_is_what_its_schema_says(name: str, example: Any) -> None:
    schema = {"$ref": f"#/components/schemas/{name}", "components": DOCUMENT["components"]}
    errors = [error.message for error in jsonschema_rs.validator_for(schema).iter_errors(example)]
    assert errors == []
    known = DOCUMENT["components"]["schemas"][name]["properties"]
    assert example.keys() <= known.keys()


@pytest.mark.parametrize("name", ["submit_articles", "submit_crawl", "submit_url"])
async def test_the_first_example_works_when_it_is_tried(plain_door: Front, name: str) -> None:
    [(method, path)] = [(m, p) for m, p, one in OPERATIONS if one["operationId"] == name]
    first = body_of(operation(name))["examples"][0]
    assert (await plain_door.ask(method, path, json=first)).status in (200, 201)


async def test_what_happens_at_the_entrance_is_documented(plain_door: Front) -> None:
    """Of every operation: no key, a role too small, a foreign host, a body too large."""
    reader = (await visitor(plain_door, "reader", Role.READ)).headers
    admin = (await visitor(plain_door, "admin", Role.ADMIN)).headers
    seen: dict[str, set[int]] = {}
    for method, path, described in OPERATIONS:
        needed = DECISIONS[method, path][0]
        asked = [{"Host": "evil.example"}]
        asked += [{}] if needed is not None else []
        asked += [reader] if needed is not None and needed > Role.READ else []
        asked += [admin | {"Content-Length": str(2**40)}] if "requestBody" in described else []
        statuses = {await head_only(plain_door, method, concrete(path), one) for one in asked}
        assert {str(status) for status in statuses} <= described["responses"].keys(), (method, path)
        seen[f"{method} {path}"] = statuses
    assert seen["GET /version"] == {403}
    assert seen["GET /jobs"] == {401, 403}
    assert seen["POST /crawl"] == {401, 403, 413}
    assert seen["POST /session"] == {403, 413}


async def head_only(door: Front, method: str, path: str, headers: dict[str, str]) -> int:
    """The status with which a request is answered of which no body comes."""
    host, port = door.url.removeprefix("http://").split(":")
    lines = [f"{method} {path} HTTP/1.1", "Connection: close"]
    lines += [f"{name}: {value}" for name, value in ({"Host": host} | headers).items()]
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write("\r\n".join([*lines, "", ""]).encode())
    async with asyncio.timeout(PATIENCE):
        status = int((await reader.readline()).split()[1])
    writer.close()
    await writer.wait_closed()
    return status


def test_who_is_asked_for_no_key_is_described_so() -> None:
    for method, path, described in OPERATIONS:
        needs_none = DECISIONS[method, path][0] is None
        assert (described.get("security") == []) == needs_none, (method, path)
        assert ("401" in described["responses"]) or needs_none


async def test_a_browsers_cookie_and_its_token_are_described(plain_door: Front) -> None:
    document = (await plain_door.get("/openapi.json")).json
    schemes = document["components"]["securitySchemes"]
    assert (schemes["cookie"]["in"], schemes["cookie"]["name"]) == ("cookie", "curtsy_session")
    assert (schemes["csrf_token"]["in"], schemes["csrf_token"]["name"]) == (
        "header", "X-CSRF-Token",
    )  # fmt: skip
    assert document["security"] == [{"key": []}, {"cookie": []}, {}]
    for path in document["paths"].values():
        for method, described in path.items():
            ways = described.get("security", document["security"])
            with_cookie = [way for way in ways if "cookie" in way]
            assert all(("csrf_token" in way) == (method != "get") for way in with_cookie)


async def test_who_is_told_to_wait_is_told_for_how_long(plain_door: Front) -> None:
    for _method, _path, described in OPERATIONS:
        for status in described["responses"].keys() & {"429", "503"}:
            assert "Retry-After" in described["responses"][status]["headers"], described
    for _ in range(22):  # ten a minute, and a minute may end meanwhile
        answer = await plain_door.ask("POST", "/session", json={"key": "wrong"})
        if answer.status == 429:
            break
    assert_problem(answer, 429, "over_limit")
    assert answer.headers["retry-after"].isdecimal()


def reference_rows() -> Iterator[tuple[str, str, str]]:
    """Method, path and the answer of every row in the first table of the reference."""
    for line in REFERENCE.partition("|---|---|---|\n")[2].partition("\n\n")[0].splitlines():
        paths, *_does, answer = (cell.strip() for cell in re.split(r" \| ", line.strip("| ")))
        for method, path in re.findall(r"`([A-Z]+) (\S+)`", paths):
            yield method, path, answer


def test_the_reference_tells_the_answers_that_openapi_tells() -> None:
    described = {(m, re.sub(r"\{\w+\}", "{id}", path)): one["responses"].keys()
                 for m, path, one in OPERATIONS}  # fmt: skip
    rows = list(reference_rows())
    assert len(rows) > 30
    for method, path, answer in rows:
        told, known = set(re.findall(r"\b[2-5]\d\d\b", answer)), described[method, path]
        assert told, (method, path)
        assert told <= known, (method, path, told - known)
        is_built = not told & {"501"} and "{run" not in path and "404" not in told
        successes = {status for status in known if status < "300"}
        assert successes <= told or not is_built, (method, path)


def test_the_reference_explains_every_error_that_openapi_tells_of() -> None:
    errors = {status for *_where, one in OPERATIONS for status in one["responses"]
              if status >= "400"} - {"500"}  # fmt: skip
    explained = set()
    for row in re.findall(r"^\| ([0-9, ]+) \| ", REFERENCE, re.MULTILINE):
        explained |= set(row.split(", "))
    assert errors - explained == set()
