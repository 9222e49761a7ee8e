"""Dead letters: pages that were given up, by cause; retried or laid aside, one or many."""

from operator import attrgetter
from typing import Annotated

from fastapi import APIRouter, Depends, Query

from curtsy.api.backend import Backend, TheBackend
from curtsy.api.middleware.json_route import JsonRoute
from curtsy.api.problems import problems
from curtsy.api.schemas.dead_letters import (
    LARGEST_ID,
    LetterList,
    LetterStory,
    SettledLetters,
    State,
    Which,
    group_of,
    meant,
    settled,
    shown,
    story_of,
)
from curtsy.errors import NotFound
from curtsy.jobs import LetterSelection, Settled
from curtsy.jobs.dead_letters import count_open, groups, letter, letters
from curtsy.jobs.pages import attempts_of
from curtsy.model.failure_kinds import Kind

router = APIRouter(
    route_class=JsonRoute, prefix="/dead-letters", generate_unique_id_function=attrgetter("name")
)


async def _letter(letter_id: str) -> int:
    if not (letter_id.isascii() and letter_id.isdecimal() and int(letter_id[:20]) < LARGEST_ID):
        raise NotFound("dead letter", letter_id[:100])
    return int(letter_id)


LetterId = Annotated[int, Depends(_letter)]
Cursor = Annotated[str | None, Query(pattern="^[0-9]{1,18}$")]


@router.get("", responses=problems(), response_model_exclude_none=True)
async def list_dead_letters(
    backend: TheBackend,
    state: State = "open",
    kind: Kind | None = None,
    source: Annotated[str | None, Query(max_length=300)] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 50,
    cursor: Cursor = None,
) -> LetterList:
    """What was given up: the open ones by cause, and the letters themselves, newest first."""
    before = int(cursor) if cursor is not None else None
    rows = await backend.read(lambda c: letters(c, state=state, kind=kind, source=source,
                                             before=before, most=limit + 1))  # fmt: skip
    by_cause = await backend.read(lambda c: groups(c, kind=kind, source=source))
    more = len(rows) > limit
    return LetterList(
        groups=[group_of(group) for group in by_cause],
        letters=[shown(row) for row in rows[:limit]],
        limit=limit,
        next_cursor=str(rows[limit - 1].id) if more else None,
    )


@router.get("/{letter_id}", responses=problems(404), response_model_exclude_none=True)
async def get_dead_letter(number: LetterId, backend: TheBackend) -> LetterStory:
    """One letter with its traceback, and every attempt at its page."""
    row = await backend.read(lambda c: letter(c, number))
    history = await backend.read(lambda c: attempts_of(c, row.page_id))
    return story_of(row, history)


@router.post("/retry", responses=problems(507))
async def retry_dead_letters(which: Which, backend: TheBackend) -> SettledLetters:
    """Try many again, or first see how many that would be (`preview`, which is the default)."""
    asked = meant(which)
    if which.preview:
        return await _preview(backend, asked)
    return await _done(backend, asked, await backend.retry_letters(asked))


@router.post("/resolve", responses=problems(507))
async def resolve_dead_letters(which: Which, backend: TheBackend) -> SettledLetters:
    """Lay many aside, or first see how many that would be (`preview`, which is the default)."""
    asked = meant(which)
    if which.preview:
        return await _preview(backend, asked)
    return await _done(backend, asked, await backend.resolve_letters(asked))


@router.post("/{letter_id}/retry", status_code=202, responses=problems(404, 409, 507))
async def retry_dead_letter(number: LetterId, backend: TheBackend) -> SettledLetters:
    """Try its page again, for every job that wanted it and was not cancelled."""
    return settled(await backend.retry_letter(number))


@router.post("/{letter_id}/resolve", responses=problems(404, 409, 507))
async def resolve_dead_letter(number: LetterId, backend: TheBackend) -> SettledLetters:
    """Lay it aside: nothing more is done about it."""
    return settled(await backend.resolve_letter(number))


async def _preview(backend: Backend, asked: LetterSelection) -> SettledLetters:
    if asked.ids is not None:
        number = await backend.read(lambda c: count_open(c, asked.ids or ()))
        return SettledLetters(preview=True, letters=number)
    found = await backend.read(lambda c: groups(c, kind=asked.kind, source=asked.source))
    return SettledLetters(
        preview=True,
        letters=sum(group.count.number for group in found),
        letters_is_capped=any(group.count.capped for group in found),
        groups=[group_of(group) for group in found],
    )


async def _done(backend: Backend, asked: LetterSelection, done: Settled) -> SettledLetters:
    left = 0
    if asked.ids is None:
        found = await backend.read(lambda c: groups(c, kind=asked.kind, source=asked.source))
        left = sum(group.count.number for group in found)
    return settled(done, left)
