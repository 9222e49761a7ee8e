"""Writes results to standard output and notes to stderr."""

import json
import os
import sys
from contextlib import suppress
from typing import Any, TextIO

import orjson
import typer

from curtsy.cli.console.exit_codes import FAILED, OUTPUT_CLOSED
from curtsy.errors import CurtsyError
from curtsy.terminal import printable, printable_json


class CannotWrite(CurtsyError):
    code = "cannot_write"

    def __init__(self, where: str, error: OSError) -> None:
        super().__init__(
            f"{where} cannot be written ({error.strerror or error}): free space or write "
            "elsewhere, then run the command again; nothing that was fetched is lost."
        )


def echo(text: str) -> None:
    write(sys.stdout, f"{text}\n", where="Standard output")


def echo_json(value: Any) -> None:
    echo(json_line(value, sys.stdout))


def note(text: str) -> None:
    """Prints a line on stderr, clean wherever that leads; a stderr that cannot be written is
    ignored."""
    try:
        print(printable(text), file=sys.stderr, flush=True)
    except OSError:
        discard(sys.stderr)


def json_line(value: Any, to: TextIO) -> str:
    """Returns one line of JSON; escapes non-ASCII characters unless `to` is UTF-8, and those that
    would steer a terminal."""
    if to.encoding.lower().replace("-", "") == "utf8":
        text = orjson.dumps(value).decode()
        return printable_json(text) if to.isatty() else text
    return json.dumps(orjson.loads(orjson.dumps(value)))


def write(to: TextIO, text: str, *, where: str) -> None:
    """Writes and flushes; on a terminal, clean text. A reader that closed the pipe ends the command
    without a message."""
    try:
        to.write(printable(text) if to.isatty() else text)
        to.flush()
    except BrokenPipeError:
        raise typer.Exit(OUTPUT_CLOSED) from None
    except OSError as error:
        discard(to)
        raise CannotWrite(where, error) from None


def discard(stream: TextIO) -> None:
    """Redirects the stream to nowhere, so that closing it does not write again."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def require_yes(question: str) -> None:
    """Asks the question on the terminal; ends the command unless the answer is yes."""
    try:
        agreed = typer.confirm(printable(question), err=True)
    except typer.Abort:
        agreed = False
    if not agreed:
        note("Nothing was changed.")
        raise typer.Exit(FAILED)
