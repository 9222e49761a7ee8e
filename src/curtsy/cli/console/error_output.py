"""Reports errors: one sentence on stderr and an exit code, never a traceback."""

import errno
import io
import re
import sys

import typer

from curtsy.cli.console.exit_codes import (
    FAILED,
    INTERRUPTED,
    NOT_BUILT,
    OUTPUT_CLOSED,
    TOO_OLD,
    WRONG_USAGE,
)
from curtsy.cli.console.option_names import as_typed
from curtsy.cli.console.output import CannotWrite, discard, note
from curtsy.errors import CurtsyError, WrongSchema

OUTPUT_ERRORS = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}


class WrongUsage(CurtsyError):
    """The arguments of the command are wrong."""

    code = "wrong_usage"


class NotBuilt(CurtsyError):
    """The command exists, but a later part of curtsy brings its function."""

    code = "not_built"


def run_command_line(command: typer.Typer) -> None:
    """Runs the command line and ends the process."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # characters that the terminal lacks become ?
    sys.exit(_exit_code(command))


def _exit_code(command: typer.Typer) -> int:
    try:
        code: int | None = command(prog_name="curtsy", standalone_mode=False)
        sys.stdout.flush()
    except WrongUsage as error:
        return _report(str(error), WRONG_USAGE)
    except NotBuilt as error:
        return _report(str(error), NOT_BUILT)
    except WrongSchema as error:
        return _report(as_typed(error), FAILED if error.is_too_old else TOO_OLD)
    except CurtsyError as error:
        return _report(as_typed(error), FAILED)
    except typer.TyperException as error:
        return _report(_usage_sentence(error), WRONG_USAGE)
    except KeyboardInterrupt:  # during completion; commands have ended by then
        return INTERRUPTED
    except OSError as error:
        return code_of_output_error(error)
    return code or 0


def code_of_output_error(error: OSError) -> int:
    """Reports that standard output cannot be written; raises any other error."""
    if isinstance(error, BrokenPipeError):
        discard(sys.stdout)
        return OUTPUT_CLOSED
    if error.errno not in OUTPUT_ERRORS:
        raise error
    discard(sys.stdout)
    return _report(str(CannotWrite("Standard output", error)), FAILED)


def _report(sentence: str, code: int) -> int:
    note(f"curtsy: {sentence}")
    return code


def _usage_sentence(error: typer.TyperException) -> str:
    """Describes wrong arguments in one sentence that names the command's help."""
    text = " ".join(error.format_message().replace("Value error, ", "").split())
    text = re.sub(r"\. Did you mean (.*)\?$", r" (did you mean \1?)", text)
    context: typer.Context | None = getattr(error, "ctx", None)
    path = context.command_path if context else "curtsy"
    return f"{text.rstrip('.')}: see `{path} --help`."
