"""What the OpenAPI document allows is sent, and what it does not: no crash, and no answer it does
not tell of; about what is not there, and about what is."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from itertools import count
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import (
    content_type_conformance,
    not_a_server_error,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from api.conftest import Site
from api.front import Front
from api.real_things import Things, make_things

EXAMPLES, WRONG = 12, 8
POSITIVE = GenerationMode.POSITIVE
NOT_BUILT = 501
TRUE = [content_type_conformance, response_headers_conformance, response_schema_conformance,
        status_code_conformance]  # fmt: skip
STREAMS = ("/events", "/jobs/{job_id}/logs")
"""They have no end; as JSON they have."""
ACCEPTED = ("application/json", "*/*", "text/html, application/x-ndjson;q=0.5")
ORDER = ("get", "post", "patch", "put", "delete")
"""What is there is looked at before it is changed, and goes last of all."""


def tried(
    operation: Any, url: str, examples: int = EXAMPLES, *, mode: GenerationMode = POSITIVE,
    real: Sequence[dict[str, str]] = (),
) -> list[int]:  # fmt: skip
    """The statuses with which it answered; raises at the first answer that is not told of. `real`
    are things that are there, in turn."""
    statuses: list[int] = []
    turns = count()

    @settings(
        max_examples=examples, deadline=None, database=None, derandomize=True,
        phases=[Phase.generate], suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(case=operation.as_strategy(mode))
    def send(case: Any) -> None:
        turn = next(turns)
        if real:
            case.path_parameters = dict(real[turn % len(real)])
        accepted = ACCEPTED[0 if operation.path in STREAMS else turn % len(ACCEPTED)]
        answer = case.call(base_url=url, headers={"Accept": accepted}, timeout=20)
        statuses.append(answer.status_code)
        built = [] if answer.status_code == NOT_BUILT else [not_a_server_error]
        case.validate_response(answer, checks=TRUE + built)

    with suppress(Unsatisfiable):  # where nothing is said, nothing can be said wrongly
        send()
    return statuses


def operations_at(url: str) -> list[Any]:
    schema = schemathesis.openapi.from_url(f"{url}/openapi.json")
    every = [result.ok() for result in schema.get_all_operations()]
    return sorted(every, key=lambda one: ORDER.index(one.method))


def try_all(url: str) -> dict[str, list[int]]:
    return {f"{one.method} {one.path}": tried(one, url) for one in operations_at(url)}


async def test_every_operation_answers_as_it_is_documented(door: Front) -> None:
    answered = await asyncio.to_thread(try_all, door.url)
    assert len(answered) > 50
    assert all(answered.values())
    built = [name for name, statuses in answered.items() if NOT_BUILT not in statuses]
    assert len(built) > 25


def try_real_things(url: str, things: Things) -> dict[str, list[int]]:
    answered = {}
    for one in operations_at(url):
        if "{" in one.path:
            real = things.for_path(one.path)
            assert real, f"it is not known what stands in {one.path}"
            answered[f"{one.method} {one.path}"] = tried(one, url, len(real), real=real)
    return answered


async def test_what_is_there_is_answered_as_it_is_documented(door: Front, site: Site) -> None:
    async with door.engine.worker():  # not for longer: Hypothesis wants the dice for itself
        things = await make_things(door, site)
    answered = await asyncio.to_thread(try_real_things, door.url, things)
    unseen = {name for name, statuses in answered.items()
              if name.startswith("get") and not {200, NOT_BUILT} & set(statuses)}  # fmt: skip
    assert unseen == set(), "whatever can be looked at was seen"


def try_what_is_wrong(url: str) -> dict[str, list[int]]:
    """A name in a path is never wrong, whatever it is; what else is said may be."""
    return {
        f"{one.method} {one.path}": tried(one, url, WRONG, mode=GenerationMode.NEGATIVE)
        for one in operations_at(url)
        if len(one.query) or len(one.body)
    }


async def test_what_the_document_does_not_allow_is_refused(plain_door: Front) -> None:
    answered = await asyncio.to_thread(try_what_is_wrong, plain_door.url)
    assert len(answered) > 20
    assert [name for name, statuses in answered.items() if max(statuses) < 400] == []


async def test_an_answer_that_is_not_told_of_would_be_noticed(plain_door: Front) -> None:
    def without_a_404() -> None:
        schema = schemathesis.openapi.from_url(f"{plain_door.url}/openapi.json")
        schema.raw_schema["paths"]["/jobs/{job_id}"]["get"]["responses"].pop("404")
        tried(schema["/jobs/{job_id}"]["GET"], plain_door.url)

    with pytest.raises(BaseException, match="Undocumented status code"):
        await asyncio.to_thread(without_a_404)
