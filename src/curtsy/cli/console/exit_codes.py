"""Exit codes of the commands. 0 is success; also a service that stopped on a signal."""

FAILED = 1
WRONG_USAGE = 2
SOME_FAILED = 3
ALL_FAILED = 4
NOT_BUILT = 5
"""The command is not built yet."""
INTERRUPTED = 130
OUTPUT_CLOSED = 141
"""The reader of the output, such as `head`, closed it; shells show the same for SIGPIPE."""


def exit_code(done: int, failed: int) -> int:
    """The exit code for so many fetched and failed pages."""
    if not failed:
        return 0
    return SOME_FAILED if done else ALL_FAILED
