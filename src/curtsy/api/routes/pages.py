"""Pages: one URL with one scraper, shared by all jobs, with all attempts at it."""

import re
from operator import attrgetter
from typing import Annotated

from fastapi import APIRouter, Depends, Request

from curtsy.api.auth.ownership import page_visible_since
from curtsy.api.backend import TheBackend
from curtsy.api.problems import problems
from curtsy.api.schemas.pages import Page, own_page_of, page_of
from curtsy.errors import NotFound
from curtsy.jobs.pages import read_page

router = APIRouter(prefix="/pages", generate_unique_id_function=attrgetter("name"))


async def _page(page_id: str) -> str:
    if not re.fullmatch(r"art_[0-9a-f]{1,15}", page_id):
        raise NotFound("page", page_id[:100])
    return page_id


PageId = Annotated[str, Depends(_page)]


@router.get("/{page_id}", responses=problems(404), response_model_exclude_none=True)
async def get_page(request: Request, page: PageId, backend: TheBackend) -> Page:
    """A page with its state and the history of its attempts."""
    number = int(page.removeprefix("art_"), 16)
    since = await page_visible_since(request, backend, number, page)
    history = await backend.read(lambda c: read_page(c, number, page))
    return page_of(history) if since is None else own_page_of(history, since)
