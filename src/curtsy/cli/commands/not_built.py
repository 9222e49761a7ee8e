"""Commands of the contract whose engine comes with a later part: each says so, and which.

This list only shrinks. A part that is built takes its commands out of it.
"""

from collections.abc import Mapping
from typing import Annotated

import typer

from curtsy.cli.console.connection import AsJson, Url
from curtsy.cli.console.errors import NotBuilt

MONITORING = "monitoring"
NOT_YET: Mapping[str, str] = {
    "generate-report": MONITORING,
    "export": "export",
    "discover": "discovery",
}
"""By command: the part that brings it."""


def not_built(what: str, part: str) -> str:
    return f"{what} is not built yet: it comes with the part {part!r}."


def _refusal(command: str) -> NotBuilt:
    return NotBuilt(not_built(f"`curtsy {command}`", NOT_YET[command]))


# They take already what they will take, so that nothing has to be called differently then.


def generate_report(
    hours: Annotated[int, typer.Option(min=1, max=8_760, metavar="N", help="How far back.")] = 6,  # noqa: ARG001
    as_json: AsJson = False,  # noqa: ARG001
    url: Url = None,  # noqa: ARG001
) -> None:
    """A report on the last hours. Not built yet: it says so, with exit code 5."""
    raise _refusal("generate-report")


def export(
    job: Annotated[str, typer.Argument(metavar="JOB", help="Its id.")],  # noqa: ARG001
    as_json: AsJson = False,  # noqa: ARG001
    url: Url = None,  # noqa: ARG001
) -> None:
    """A job's results as a table. Not built yet: it says so, with exit code 5."""
    raise _refusal("export")


def discover(
    page: Annotated[str, typer.Argument(metavar="URL", help="Where to look.")],  # noqa: ARG001
    as_json: AsJson = False,  # noqa: ARG001
    url: Url = None,  # noqa: ARG001
) -> None:
    """What a site has to scrape. Not built yet: it says so, with exit code 5."""
    raise _refusal("discover")
