"""Dead letters: pages that failed for good. Lists them by cause, retries and resolves them."""

from operator import attrgetter
from typing import Annotated

from fastapi import APIRouter, Depends, Query
from starlette.requests import HTTPConnection

from curtsy.api.auth.middleware import TheCaller
from curtsy.api.auth.ownership import letter_visible_since
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
    letter_of,
    own_story_of,
    selection_of,
    settled,
    story_of,
)
from curtsy.errors import NotFound
from curtsy.jobs import LetterSelection, Settled
from curtsy.jobs.dead_letters import BATCH, count_open, groups, letter, letters
from curtsy.jobs.own_letters import own_groups, own_letters
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
    caller: TheCaller,
    state: State = "open",
    kind: Kind | None = None,
    source: Annotated[str | None, Query(max_length=300)] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 50,
    cursor: Cursor = None,
) -> LetterList:
    """Pages that failed for good: open letters grouped by cause, and the letters, newest first.
    Callers who see only their own jobs get the letters of these, and each request searches 10,000
    letters: a page may have few or none, and still a `next_cursor`."""
    before = int(cursor) if cursor is not None else None
    if (user := caller.confined_to) is not None:
        own = await backend.read(lambda c: own_letters(c, user, state=state, kind=kind,
                                         source=source, before=before, most=limit))  # fmt: skip
        groups_of_user = await backend.read(lambda c: own_groups(c, user, kind=kind, source=source))
        return LetterList(
            groups=[group_of(group) for group in groups_of_user],
            letters=[letter_of(row) for row in own.letters], limit=limit,
            next_cursor=str(own.onward) if own.onward is not None else None,
        )  # fmt: skip
    rows = await backend.read(lambda c: letters(c, state=state, kind=kind, source=source,
                                             before=before, most=limit + 1))  # fmt: skip
    open_groups = await backend.read(lambda c: groups(c, kind=kind, source=source))
    return LetterList(
        groups=[group_of(group) for group in open_groups],
        letters=[letter_of(row) for row in rows[:limit]],
        limit=limit,
        next_cursor=str(rows[limit - 1].id) if len(rows) > limit else None,
    )


@router.get("/{letter_id}", responses=problems(404), response_model_exclude_none=True)
async def get_dead_letter(
    number: LetterId, backend: TheBackend, connection: HTTPConnection
) -> LetterStory:
    """A dead letter with its traceback and all attempts at its page. Callers who see only their own
    jobs get the attempts since their first request for the page, without tracebacks."""
    row = await backend.read(lambda c: letter(c, number))
    since = await letter_visible_since(connection, backend, row)
    history = await backend.read(lambda c: attempts_of(c, row.page_id))
    return story_of(row, history) if since is None else own_story_of(row, history, since)


@router.post("/retry", responses=problems(507))
async def retry_dead_letters(body: Which, backend: TheBackend) -> SettledLetters:
    """Retry many dead letters. With `preview`, the default, only count them."""
    selection = selection_of(body)
    if body.preview:
        return await _preview(backend, selection)
    return await _changed(backend, selection, await backend.retry_letters(selection))


@router.post("/resolve", responses=problems(507))
async def resolve_dead_letters(body: Which, backend: TheBackend) -> SettledLetters:
    """Resolve many dead letters without a retry. With `preview`, the default, only count them."""
    selection = selection_of(body)
    if body.preview:
        return await _preview(backend, selection)
    return await _changed(backend, selection, await backend.resolve_letters(selection))


@router.post("/{letter_id}/retry", status_code=202, responses=problems(404, 409, 507))
async def retry_dead_letter(number: LetterId, backend: TheBackend) -> SettledLetters:
    """Retry the page for every job that requested it and was not cancelled."""
    return settled(await backend.retry_letter(number))


@router.post("/{letter_id}/resolve", responses=problems(404, 409, 507))
async def resolve_dead_letter(number: LetterId, backend: TheBackend) -> SettledLetters:
    """Resolve a dead letter: its page is not retried."""
    return settled(await backend.resolve_letter(number))


async def _preview(backend: Backend, selection: LetterSelection) -> SettledLetters:
    if selection.ids is not None:
        number = await backend.read(lambda c: count_open(c, selection.ids or ()))
        return SettledLetters(preview=True, letters=number)
    found = await backend.read(lambda c: groups(c, kind=selection.kind, source=selection.source))
    return SettledLetters(
        preview=True,
        letters=sum(group.count.number for group in found),
        letters_is_capped=any(group.count.capped for group in found),
        groups=[group_of(group) for group in found],
    )


async def _changed(
    backend: Backend, selection: LetterSelection, changes: Settled
) -> SettledLetters:
    """`left` counts what did not fit into the time. A batch that is not full was the last: letters
    that are open now failed again meanwhile."""
    left = 0
    if selection.ids is None and changes.letters and changes.letters % BATCH == 0:
        found = await backend.read(
            lambda c: groups(c, kind=selection.kind, source=selection.source)
        )
        left = sum(group.count.number for group in found)
    return settled(changes, left)
