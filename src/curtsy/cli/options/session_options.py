"""The options --session and --cookies of commands that make jobs."""

from pathlib import Path
from typing import Annotated, Any

import typer

from curtsy.cli.console.error_output import WrongUsage

LARGEST_FILE = 64 * 1024

Session = Annotated[
    bool,
    typer.Option(
        "--session", help="Keep cookies from page to page, after the login of the pages' source."
    ),
]
CookieFile = Annotated[
    Path | None,
    typer.Option(
        "--cookies", metavar="FILE",
        help="A browser's cookies.txt (or JSON export) to begin the session with.",
    ),
]  # fmt: skip


def session_fields(
    session: bool, cookies: Path | None, *, new_only: bool = False
) -> dict[str, Any]:
    """The API's fields for the options. Raises `WrongUsage`."""
    if new_only and (session or cookies is not None):
        raise WrongUsage("--new-only excludes --session and --cookies: what a session fetches is "
                         "no other job's, so that every page would be new.")  # fmt: skip
    if cookies is None:
        return {"session": True} if session else {}
    try:
        with cookies.open("rb") as file:
            text = file.read(LARGEST_FILE + 1)
    except OSError as error:
        raise WrongUsage(f"--cookies: {cookies} cannot be read ({error.strerror}).") from None
    if len(text) > LARGEST_FILE:
        raise WrongUsage(f"--cookies: {cookies} has more than 64 KiB: export those of one site.")
    return {"session": True, "cookies": text.decode(errors="replace")}
