"""Where a command's questions go: to an API elsewhere, or to the local database."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated

import httpx
import typer

from curtsy.app import local_api
from curtsy.cli.starting import settings_for
from curtsy.client import Talk

Url = Annotated[
    str | None,
    typer.Option(
        "--url", envvar="CURTSY_URL", show_default=False,
        help="The API to talk to, as http://host:8000. Without it: the local database.",
    ),
]  # fmt: skip
AsJson = Annotated[bool, typer.Option("--json", help="For programs.")]

ANSWER_SECONDS = 60.0


@asynccontextmanager
async def talk(url: str | None) -> AsyncIterator[Talk]:
    if url:
        async with httpx.AsyncClient(base_url=url, timeout=ANSWER_SECONDS) as http:
            yield Talk(http)
        return
    async with local_api(settings_for(log_level="WARNING")) as http:
        yield Talk(http)
