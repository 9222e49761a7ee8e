"""Commands whose function a later part of curtsy brings; each names that part and exits with 5.

This list only shrinks: a part that is built removes its commands from it.
"""

from collections.abc import Mapping
from typing import Annotated

import typer

from curtsy.cli.console.api_connection import AsJson, Url
from curtsy.cli.console.error_output import NotBuilt

NOT_YET: Mapping[str, str] = {
    "export": "export",
}
"""The part that brings each command."""


def not_built(what: str, part: str) -> str:
    return f"{what} is not built yet: it comes with the part {part!r}."


def _refusal(command: str) -> NotBuilt:
    return NotBuilt(not_built(f"`curtsy {command}`", NOT_YET[command]))


# The commands already have their final options, so that scripts need no change later.


def export(
    job: Annotated[str, typer.Argument(metavar="JOB", help="The job's id.")],  # noqa: ARG001
    as_json: AsJson = False,  # noqa: ARG001
    url: Url = None,  # noqa: ARG001
) -> None:
    """Export a job's results as a table (not built yet).

    Ends with exit code 5.
    """
    raise _refusal("export")
