"""What a command says: results on standard output, everything else on stderr."""

import json
import os
import sys
from contextlib import suppress
from typing import Any, TextIO

import orjson
import typer

from curtsy.cli.console.exit_codes import FAILED, OUTPUT_CLOSED
from curtsy.errors import CurtsyError


class CannotWrite(CurtsyError):
    code = "cannot_write"

    def __init__(self, where: str, error: OSError) -> None:
        super().__init__(
            f"{where} cannot be written ({error.strerror or error}): make room or write elsewhere, "
            "and do it again; nothing that was fetched is lost."
        )


def echo(text: str) -> None:
    write(sys.stdout, f"{text}\n", where="Standard output")


def echo_json(value: Any) -> None:
    echo(as_json(value, sys.stdout))


def note(text: str) -> None:
    """Beside the results; nobody is harmed if it cannot be said."""
    try:
        print(text, file=sys.stderr, flush=True)
    except OSError:
        discard(sys.stderr)


def as_json(value: Any, to: TextIO) -> str:
    """In one line; where not every character can be written, they are escaped."""
    if to.encoding.lower().replace("-", "") == "utf8":
        return orjson.dumps(value).decode()
    return json.dumps(orjson.loads(orjson.dumps(value)))


def write(to: TextIO, text: str, *, where: str) -> None:
    """At once. A reader that went away ends the program, quietly."""
    try:
        to.write(text)
        to.flush()
    except BrokenPipeError:
        raise typer.Exit(OUTPUT_CLOSED) from None
    except OSError as error:
        discard(to)
        raise CannotWrite(where, error) from None


def discard(stream: TextIO) -> None:
    """What could not be written is not tried again when it is closed."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def require_yes(question: str) -> None:
    """Ends the command if the answer is anything else."""
    try:
        agreed = typer.confirm(question, err=True)
    except typer.Abort:
        agreed = False
    if not agreed:
        note("Nothing was changed.")
        raise typer.Exit(FAILED)
