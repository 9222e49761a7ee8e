"""How an error is told: one sentence on stderr and an exit code, never a traceback."""

import errno
import io
import re
import sys

import typer

from curtsy.cli.console.exit_codes import FAILED, INTERRUPTED, NOT_BUILT, OUTPUT_CLOSED, WRONG_USAGE
from curtsy.cli.console.output import CannotWrite, discard, note
from curtsy.errors import CurtsyError

OUTPUT_ERRORS = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}


class WrongUsage(CurtsyError):
    """The command was called in a way that makes no sense."""

    code = "wrong_usage"


class NotBuilt(CurtsyError):
    """The command is named already, and comes later."""

    code = "not_built"


def told(command: typer.Typer) -> None:
    """Run the command line and end the process."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that knows no umlauts shows a ?
    sys.exit(_outcome(command))


def _outcome(command: typer.Typer) -> int:
    try:
        code: int | None = command(prog_name="curtsy", standalone_mode=False)
        sys.stdout.flush()
    except WrongUsage as error:
        return _tell(str(error), WRONG_USAGE)
    except NotBuilt as error:
        return _tell(str(error), NOT_BUILT)
    except CurtsyError as error:
        return _tell(str(error), FAILED)
    except typer.TyperException as error:
        return _tell(_of_arguments(error), WRONG_USAGE)
    except KeyboardInterrupt:  # while completing; commands have ended by then
        return INTERRUPTED
    except BrokenPipeError:
        discard(sys.stdout)
        return OUTPUT_CLOSED
    except OSError as error:
        if error.errno not in OUTPUT_ERRORS:
            raise
        discard(sys.stdout)
        return _tell(str(CannotWrite("Standard output", error)), FAILED)
    return code or 0


def _tell(sentence: str, code: int) -> int:
    note(f"curtsy: {sentence}")
    return code


def _of_arguments(error: typer.TyperException) -> str:
    """In one sentence, with the way to the command's help."""
    said = " ".join(error.format_message().replace("Value error, ", "").split())
    said = re.sub(r"\. Did you mean (.*)\?$", r" (is \1 meant?)", said)
    context: typer.Context | None = getattr(error, "ctx", None)
    path = context.command_path if context else "curtsy"
    return f"{said.rstrip('.')}: see `{path} --help`."
