import io
from collections.abc import AsyncIterator
from typing import Any

from structlog.testing import capture_logs

from api.front import Front, assert_problem, front
from api.test_access_matrix import DECISIONS
from curtsy.api.routes.not_built import NOT_YET
from curtsy.clock import Clock
from curtsy.jobs import SubmitLimits
from curtsy.store import Store
from support.engine import LOOPBACK, engine

JSON = {"Content-Type": "application/json"}
PAGE = "http://example.com/"

TOLD = {
    ("post", "/crawl"): {"200", "202", "409", "413", "422", "429", "500", "501", "503", "507"},
    ("post", "/discover"): {"200", "413", "422", "429", "500", "503", "507"},
    ("get", "/events"): {"200", "422", "500", "503"},
    ("get", "/jobs/{job_id}/logs"): {"200", "204", "404", "422", "500", "503"},
    ("get", "/jobs/{job_id}/webhooks"): {"200", "404", "422", "500", "503"},
    ("post", "/jobs/{job_id}/webhooks/{delivery}/replay"): {
        "202",
        "404",
        "409",
        "422",
        "500",
        "503",
        "507",
        "429",
    },
    ("get", "/webhooks/secret"): {"200", "422", "500", "503", "507"},
    ("post", "/webhooks/secret/rotate"): {"200", "409", "507", "503"},
    ("post", "/jobs"): {"201", "413", "422", "429", "500", "503", "507"},
    ("get", "/jobs"): {"200", "404", "422", "500", "503"},
    ("get", "/jobs/{job_id}"): {"200", "404", "422", "500", "503"},
    ("delete", "/jobs/{job_id}"): {"200", "400", "404", "422", "500", "503", "507"},
    ("post", "/jobs/{job_id}/retry"): {"202", "404", "409", "422", "429", "500", "503", "507"},
    ("post", "/jobs/submit"): {"200", "201", "413", "422", "429", "500", "503", "507"},
    ("get", "/jobs/{job_id}/status"): {"200", "404", "422", "500", "503"},
    ("get", "/jobs/{job_id}/results"): {"200", "404", "422", "500", "503"},
    ("post", "/jobs/{job_id}/pause"): {"200", "404", "409", "422", "500", "503", "507"},
    ("post", "/jobs/{job_id}/resume"): {"200", "404", "409", "422", "500", "503", "507"},
    ("get", "/cleanup"): {"200", "500"},
    ("post", "/cleanup"): {"200", "202", "409", "413", "422", "500"},
    ("get", "/dead-letters"): {"200", "422", "500", "503"},
    ("get", "/dead-letters/{letter_id}"): {"200", "404", "422", "500", "503"},
    ("post", "/dead-letters/retry"): {"200", "422", "500", "503", "507"},
    ("post", "/dead-letters/resolve"): {"200", "422", "500", "503", "507"},
    ("post", "/dead-letters/{letter_id}/retry"): {"202", "404", "409", "422", "500", "503", "507"},
    ("post", "/dead-letters/{letter_id}/resolve"): {
        "200",
        "404",
        "409",
        "422",
        "500",
        "503",
        "507",
    },
    ("get", "/pages/{page_id}"): {"200", "404", "422", "500", "503"},
    ("get", "/pages/{page_id}/why"): {"200", "404", "422", "500", "503"},
    ("get", "/jobs/{job_id}/why"): {"200", "404", "422", "500", "503"},
    ("get", "/jobs/{job_id}/performance"): {"200", "404", "422", "500", "503"},
    ("get", "/sources/{source_name}/why"): {"200", "404", "422", "500", "503"},
    ("get", "/sources/{source_name}/receipt"): {"200", "404", "422", "500", "503"},
    ("get", "/health"): {"200", "503"},
    ("get", "/health/live"): {"200"},
    ("get", "/health/ready"): {"200", "503"},
}
"""Of each path, the statuses that the OpenAPI document tells of, besides those of the entrance
(`entrance_to`)."""
RUNS_AND_OPERATIONS = {
    ("get", "/metrics"): {"200", "422", "500", "503"},
    ("get", "/stats"): {"200", "422", "500", "503"},
    ("get", "/jobs/sites"): {"200", "422", "500", "503"},
    ("get", "/reports"): {"200", "422", "500", "503"},
    ("post", "/reports"): {"201", "422", "500", "503", "507"},
    ("get", "/reports/latest"): {"200", "404", "422", "500", "503"},
    ("get", "/reports/{report_id}"): {"200", "404", "422", "500", "503"},
    ("post", "/jobs/scrape"): {
        "200",
        "202",
        "404",
        "409",
        "413",
        "422",
        "429",
        "500",
        "503",
        "507",
    },
    ("put", "/sites/{site_name}"): {"200", "201", "413", "422", "500", "503", "507"},
    ("get", "/sites/{site_name}"): {"200", "404", "422", "500", "503"},
    ("delete", "/sites/{site_name}"): {"200", "404", "422", "500", "503", "507"},
    ("get", "/sites/{site_name}/records"): {"200", "404", "422", "500", "503"},
    ("get", "/jobs/scrape/{run_id}"): {"200", "404", "422", "500", "503"},
    ("get", "/jobs/queue/status"): {"200", "422", "500", "503"},
    ("get", "/jobs/health"): {"200", "422", "500", "503"},
    ("post", "/scheduler/run"): {"200", "422", "500", "503", "507"},
    ("get", "/scheduler/status"): {"200", "422", "500", "503"},
    ("get", "/scheduler/plan"): {"200", "422", "500", "503"},
    ("get", "/schedules"): {"200", "422", "500", "503"},
    ("post", "/schedules"): {"201", "403", "409", "413", "422", "500", "503", "507"},
    ("get", "/schedules/{schedule_id}"): {"200", "404", "422", "500", "503"},
    ("patch", "/schedules/{schedule_id}"): {
        "200",
        "403",
        "404",
        "409",
        "413",
        "422",
        "500",
        "503",
        "507",
    },
    ("delete", "/schedules/{schedule_id}"): {"200", "404", "422", "500", "503", "507"},
    ("post", "/schedules/{schedule_id}/run"): {
        "202",
        "404",
        "409",
        "422",
        "429",
        "500",
        "503",
        "507",
    },
    ("post", "/schedules/{schedule_id}/pause"): {"200", "404", "409", "422", "500", "503", "507"},
    ("post", "/schedules/{schedule_id}/resume"): {"200", "404", "409", "422", "500", "503", "507"},
    ("get", "/schedules/{schedule_id}/runs"): {"200", "404", "422", "500", "503"},
    ("get", "/workers"): {"200", "422", "500", "503"},
    ("get", "/alerts"): {"200", "422", "500", "503"},
    ("get", "/alerts/rules"): {"200", "422", "500", "503"},
    ("get", "/alerts/rules/{rule}"): {"200", "404", "422", "500", "503"},
    ("put", "/alerts/rules/{rule}"): {"200", "409", "413", "422", "500", "503", "507"},
    ("delete", "/alerts/rules/{rule}"): {"200", "404", "422", "500", "503", "507"},
    ("get", "/alerts/channels"): {"200", "422", "500", "503"},
    ("post", "/alerts/test"): {"202", "404", "409", "413", "422", "500", "503", "507"},
    ("post", "/alerts/{rule}/mute"): {"200", "404", "409", "413", "422", "500", "503", "507"},
    ("post", "/alerts/{rule}/unmute"): {"200", "404", "409", "413", "422", "500", "503", "507"},
    ("get", "/sources"): {"200", "422", "500", "503"},
    ("get", "/sources/{source_name}"): {"200", "404", "422", "500", "503"},
    ("put", "/sources/{source_name}"): {"200", "201", "422", "500", "503", "507"},
    ("patch", "/sources/{source_name}"): {"200", "404", "422", "500", "503", "507"},
    ("delete", "/sources/{source_name}"): {"200", "404", "422", "500", "503", "507"},
    ("post", "/sources/{source_name}/pause"): {"200", "404", "409", "422", "500", "503", "507"},
    ("post", "/sources/{source_name}/resume"): {"200", "404", "409", "422", "500", "503", "507"},
    ("get", "/version"): {"200"},
} | {
    (method.lower(), path): {"501"}
    for operations in NOT_YET.values()
    for method, path in (operation.split() for operation in operations)
}


def entrance_to(method: str, path: str, operation: Any) -> set[str]:
    """What can happen before a request has reached its door; who needs a key is decided in
    `test_access_matrix`."""
    needed, _of = DECISIONS[method.upper(), path]
    with_a_key = {"401", "503"} if needed is not None else set()
    with_a_body = {"408", "413", "429"} if "requestBody" in operation else set()
    return {"403", "422", "500"} | with_a_key | with_a_body


NOT_JOBS = [
    b"{",
    b"",
    b"null",
    b"[]",
    b'"http://example.com/"',
    b'{"url": "http://example.com/"',
    b'{"url": "http://example.com/\xff"}',
    b'{"url": "http://example.com/\\ud800"}',
    b'{"url": "http://example.com/", "priority": NaN}',
    b"[" * 100_000,
    b'{"url":' * 50_000,
    b"\x00\x01\x02",
]
NOT_URLS = [
    "",
    "example.com",
    "ftp://example.com/",
    "http://",
    "http://user:pw@example.com/",
    "http://exa mple.com/",
    "http://example.com/\u0000",
    "http://[::1/",
    "x" * 9_000,
    "javascript:alert(1)",
    "http://example.com:99999/",
]
OUT_OF_BOUNDS = [
    ("priority", 0),
    ("priority", "5"),
    ("priority", True),
    ("priority", 2.5),
    ("max_age", None),
    ("max_age", 10**30),
    ("max_age", "day"),
]


SESSIONS = {
    ("post", "/session"): {"201", "401", "422", "429", "500", "503", "507"},
    ("get", "/session"): {"200", "401", "422", "500", "503"},
    ("delete", "/session"): {"204", "401", "403", "422", "500", "503", "507"},
}


async def test_what_is_not_a_job_in_json_is_refused(plain_door: Front) -> None:
    for body in NOT_JOBS:
        answer = await plain_door.ask("POST", "/jobs", data=body, headers=JSON)
        assert_problem(answer, 422, "bad_request")
    assert (await plain_door.get("/jobs")).json["total"] == 0


async def test_a_url_that_cannot_be_fetched_is_refused(door: Front) -> None:
    for url in NOT_URLS:
        assert_problem(await door.submit(url), 422, "bad_request")


async def test_a_field_out_of_its_bounds_is_refused(plain_door: Front) -> None:
    for field, value in OUT_OF_BOUNDS:
        answer = await plain_door.ask("POST", "/jobs", json={"url": PAGE, field: value})
        assert_problem(answer, 422, "bad_request")
        assert [error["loc"] for error in answer.json["errors"]] == [["body", field]]


async def test_every_problem_is_told_at_once(plain_door: Front) -> None:
    wrong = {"url": 7, "priority": 11, "max_age": -1, "colour": "red"}
    answer = await plain_door.ask("POST", "/jobs", json=wrong)
    assert_problem(answer, 422, "bad_request")
    assert {tuple(e["loc"]) for e in answer.json["errors"]} == {
        ("body", "url"), ("body", "priority"), ("body", "max_age"), ("body", "colour"),
    }  # fmt: skip
    assert all(word in answer.json["detail"] for word in wrong)


async def test_a_body_sent_as_something_else_is_told_to_come_as_json(plain_door: Front) -> None:
    body = b'{"url": "http://example.com/"}'
    for kind in ("text/plain", "application/x-www-form-urlencoded"):
        headers = {"Content-Type": kind}
        answer = await plain_door.ask("POST", "/jobs", data=body, headers=headers)
        assert_problem(answer, 422, "bad_request")
        assert "Content-Type: application/json" in answer.json["detail"]


async def test_a_path_that_leads_nowhere_is_not_found(plain_door: Front) -> None:
    for path in ("/", "/job", "/jobs/x/y/z", "/redoc", "//jobs"):
        assert_problem(await plain_door.get(path), 404, "not_found")


async def test_a_method_that_a_path_does_not_know_is_not_allowed(plain_door: Front) -> None:
    for method, path, works in [
        ("PUT", "/jobs", "GET, POST"), ("DELETE", "/jobs/", "GET, POST"),
        ("PATCH", "/jobs/x", "DELETE, GET"), ("GET", "/jobs/x/retry", "POST"),
        ("GET", "/jobs/submit", "POST"), ("PATCH", "/jobs/submit", "POST"),
        ("PATCH", "/session", "DELETE, GET, POST"),
    ]:  # fmt: skip
        answer = await plain_door.ask(method, path)
        assert_problem(answer, 405, "method_not_allowed")
        assert answer.headers["allow"] == works, path


async def test_a_body_over_the_limit_is_refused_while_it_is_read(plain_door: Front) -> None:
    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        while sent < 200 * 2**20:
            sent += 2**16
            yield b" " * 2**16

    answer = await plain_door.ask("POST", "/jobs", data=endless(), headers=JSON)
    assert_problem(answer, 413, "too_large")
    assert sent < 100 * 2**20


async def test_a_body_at_the_limit_is_read(plain_door: Front) -> None:
    job = b'{"url": "http://example.com/"}'
    answer = await plain_door.ask(
        "POST", "/jobs", data=io.BytesIO(job.ljust(64 * 2**20)), headers=JSON
    )
    assert answer.status == 201


async def test_over_a_limit_the_client_is_told_when_to_come_back(sqlite_url: str) -> None:
    few = SubmitLimits(pending=2, allow=LOOPBACK)
    async with Store(sqlite_url) as store, front(store, engine(store, Clock()), few) as door:
        statuses = [(await door.submit(f"{PAGE}{n}")).status for n in range(3)]
        assert statuses == [201, 201, 429]
        answer = await door.submit(PAGE)
        assert_problem(answer, 429, "over_limit")
        assert int(answer.headers["retry-after"]) > 0


async def test_an_error_of_our_own_is_a_sentence_and_a_traceback_in_the_log(
    plain_door: Front,
) -> None:
    job = (await plain_door.submit(PAGE)).json["id"]
    await plain_door.engine.execute(
        "UPDATE jobs SET state = 'melted' WHERE public_id = :job", job=job
    )
    with capture_logs() as lines:
        assert_problem(await plain_door.get(f"/jobs/{job}"), 500, "internal")
    assert [(line["event"], line["exc_info"]) for line in lines] == [("request_failed", True)]
    assert (await plain_door.get("/health")).status == 200


async def test_the_openapi_document_tells_of_every_path_and_problem(plain_door: Front) -> None:
    document = (await plain_door.get("/openapi.json")).json
    told = {
        (method, path): set(operation["responses"])
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    }
    doors = TOLD | RUNS_AND_OPERATIONS | SESSIONS
    assert told == {
        (method, path): statuses | entrance_to(method, path, document["paths"][path][method])
        for (method, path), statuses in doors.items()
    }
    problem = document["paths"]["/jobs"]["post"]["responses"]["422"]["content"]
    assert list(problem) == ["application/problem+json"]
    assert {"Problem", "FieldProblem"} <= document["components"]["schemas"].keys()
