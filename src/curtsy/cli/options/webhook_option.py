"""The option --webhook of commands that make jobs."""

from typing import Annotated, Any

import typer

from curtsy.cli.console.text import in_utf8

Webhook = Annotated[
    str | None,
    typer.Option(
        "--webhook", metavar="URL", help="Send a signed request here when the job has ended."
    ),
]


def webhook_field(webhook: str | None) -> dict[str, Any]:
    """The API's field for the option."""
    return {"webhook_url": in_utf8(webhook)} if webhook else {}
