"""Other users' objects return 404."""

from starlette.requests import HTTPConnection

from curtsy.api.auth.middleware import caller_of
from curtsy.api.backend import Backend
from curtsy.errors import NotFound
from curtsy.jobs.dead_letters import Letter
from curtsy.jobs.ownership import first_requested, has_page, owner_of


async def require_own_job(connection: HTTPConnection, backend: Backend, job: str) -> None:
    user_id = caller_of(connection).confined_to
    if user_id is not None and await backend.read(lambda c: owner_of(c, job)) != user_id:
        raise NotFound("job", job)


async def require_own_page(
    connection: HTTPConnection, backend: Backend, page_id: int, name: str
) -> None:
    user_id = caller_of(connection).confined_to
    if user_id is not None and not await backend.read(lambda c: has_page(c, user_id, page_id)):
        raise NotFound("page", name)


async def page_visible_since(
    connection: HTTPConnection, backend: Backend, page_id: int, name: str
) -> int | None:
    """Returns when the caller first requested the page, as far as is known; None: the caller sees
    everything."""
    user_id = caller_of(connection).confined_to
    if user_id is None:
        return None
    since = await backend.read(lambda c: first_requested(c, user_id, page_id))
    if since is None:
        raise NotFound("page", name)
    return since


async def letter_visible_since(
    connection: HTTPConnection, backend: Backend, letter: Letter
) -> int | None:
    """Returns when the caller first requested the letter's page; None: the caller sees everything.
    A page that failed only before that is another user's letter."""
    user_id = caller_of(connection).confined_to
    if user_id is None:
        return None
    since = await backend.read(lambda c: first_requested(c, user_id, letter.page_id))
    if since is None or since > letter.last_failed_at:
        raise NotFound("dead letter", str(letter.id))
    return since
