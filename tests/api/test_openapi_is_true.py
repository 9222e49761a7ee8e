"""What the OpenAPI document allows is sent: no crash, and no answer it does not tell of."""

import asyncio
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import (
    content_type_conformance,
    not_a_server_error,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from api.front import Front

EXAMPLES = 12
NOT_BUILT = 501
TRUE = [content_type_conformance, response_headers_conformance, response_schema_conformance,
        status_code_conformance]  # fmt: skip
SETTINGS = settings(
    max_examples=EXAMPLES, deadline=None, database=None, derandomize=True,
    phases=[Phase.generate], suppress_health_check=list(HealthCheck),
)  # fmt: skip


def tried(operation: Any, url: str) -> list[int]:
    """The statuses with which it answered; raises at the first answer that is not told of."""
    statuses: list[int] = []

    @SETTINGS
    @given(case=operation.as_strategy())
    def send(case: Any) -> None:
        # streams have no end; as JSON they have
        answer = case.call(base_url=url, headers={"Accept": "application/json"}, timeout=20)
        statuses.append(answer.status_code)
        built = [] if answer.status_code == NOT_BUILT else [not_a_server_error]
        case.validate_response(answer, checks=TRUE + built)

    send()
    return statuses


def try_all(url: str) -> dict[str, list[int]]:
    schema = schemathesis.openapi.from_url(f"{url}/openapi.json")
    operations = [result.ok() for result in schema.get_all_operations()]
    return {f"{one.method} {one.path}": tried(one, url) for one in operations}


async def test_every_operation_answers_as_it_is_documented(door: Front) -> None:
    answered = await asyncio.to_thread(try_all, door.url)
    assert len(answered) > 50
    assert all(answered.values())
    built = [name for name, statuses in answered.items() if NOT_BUILT not in statuses]
    assert len(built) > 25


async def test_an_answer_that_is_not_told_of_would_be_noticed(plain_door: Front) -> None:
    def without_a_404() -> None:
        schema = schemathesis.openapi.from_url(f"{plain_door.url}/openapi.json")
        schema.raw_schema["paths"]["/jobs/{job_id}"]["get"]["responses"].pop("404")
        tried(schema["/jobs/{job_id}"]["GET"], plain_door.url)

    with pytest.raises(BaseException, match="Undocumented status code"):
        await asyncio.to_thread(without_a_404)
