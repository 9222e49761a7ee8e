"""A question before something that cannot be taken back."""

import typer

from curtsy.cli.console.exit_codes import FAILED
from curtsy.cli.console.output import note


def require_yes(question: str) -> None:
    """Ends the command if the answer is anything else."""
    try:
        agreed = typer.confirm(question, err=True)
    except typer.Abort:
        agreed = False
    if not agreed:
        note("Nothing was changed.")
        raise typer.Exit(FAILED)
