"""Connects a command to the API of --url, or to one in this process on the local database."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from curtsy.cli.console.database_file import require_file
from curtsy.cli.console.error_output import WrongUsage
from curtsy.cli.console.runner import settings_for
from curtsy.client import ApiConnection, Declined, open_http
from curtsy.errors import BadSetting, CurtsyError

if TYPE_CHECKING:
    import httpx

Url = Annotated[
    str | None,
    typer.Option(
        "--url", envvar="CURTSY_URL", show_default=False, metavar="ADDRESS",
        help="Use the API there, for example http://host:8000; without it, the local database.",
    ),
]  # fmt: skip
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else, for programs.")]

ANSWER_SECONDS = 60.0
NO_KEY, NOT_FOUND = 401, 404


class ApiKeyNeeded(CurtsyError):
    code = "key_needed"

    def __init__(self) -> None:
        super().__init__("The API needs a valid key: put one into CURTSY_KEY.")


class ApiNotFound(CurtsyError):
    code = "not_found"


@asynccontextmanager
async def open_api(
    url: str | None, *, create: bool = False, list_command: str = "curtsy jobs"
) -> AsyncIterator[ApiConnection]:
    """Yields a connection to the API at `url`, or to one on the local database.

    With `create`, a local database that does not exist is created. `list_command` is the command
    that an error about an unknown name refers to.
    """
    async with remote_api(url) if url else _local(create=create) as http:
        try:
            yield ApiConnection(http)
        except Declined as declined:
            if declined.status == NO_KEY:
                raise ApiKeyNeeded from None
            if declined.status != NOT_FOUND:
                raise
            sentence = str(declined).rstrip(".")
            raise ApiNotFound(f"{sentence}: see `{list_command}`.") from None


@asynccontextmanager
async def _local(*, create: bool) -> AsyncIterator["httpx.AsyncClient"]:
    settings = settings_for(log_level="WARNING")
    if not create:
        require_file(settings)
    from curtsy.processes.local_api import local_api

    async with local_api(settings) as http:
        yield http


def remote_api(url: str) -> "httpx.AsyncClient":
    try:
        return open_http(url, key=None, timeout=ANSWER_SECONDS)
    except BadSetting as wrong:
        raise WrongUsage(str(wrong)) from None


async def list_jobs(url: str | None, query: dict[str, Any]) -> dict[str, Any]:
    """Reads on until there are as many jobs as wanted, where a search ends a page early."""
    list_command = "curtsy sources list" if query.get("source") else "curtsy jobs"
    async with open_api(url, list_command=list_command) as api:
        found: dict[str, Any] = await api.request("GET", "/jobs", query=query)
        while "next_cursor" in found and (missing := query["limit"] - len(found["jobs"])) > 0:
            further = query | {"cursor": found.pop("next_cursor"), "limit": missing}
            onward = await api.request("GET", "/jobs", query=further)
            onward["jobs"] = found["jobs"] + onward["jobs"]
            onward["total"] = max(found["total"] + onward["total"], len(onward["jobs"]))
            found = onward | {"limit": query["limit"]}
        return found
