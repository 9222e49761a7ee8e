"""Exit codes of the commands. 0 is success; also a service that stopped on a signal."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from curtsy.client import Status

FAILED = 1
WRONG_USAGE = 2
SOME_FAILED = 3
ALL_FAILED = 4
NOT_BUILT = 5
"""The command is not built yet."""
TOO_OLD = 6
"""The program is too old for the database's schema: to start it again does not help."""
UNSUCCESSFUL = ("failed", "cancelled")
"""States of a job."""
INTERRUPTED = 130
OUTPUT_CLOSED = 141
"""The reader of the output, such as `head`, closed it; shells show the same for SIGPIPE."""


def exit_code(done: int, failed: int) -> int:
    """The exit code for so many fetched and failed pages."""
    if not failed:
        return 0
    return SOME_FAILED if done else ALL_FAILED


def code_of_job(ended: "Status") -> int:
    """The exit code of every command that waited for a job. A job that failed or was cancelled as a
    whole, such as a run that took too long, is no success although no page of it failed."""
    failed = ended.failed + ended.cancelled
    return exit_code(ended.completed, failed or ended.state in UNSUCCESSFUL)
