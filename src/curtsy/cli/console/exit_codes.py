"""Exit codes. 0: all is well, also after a stop in order."""

FAILED = 1
WRONG_USAGE = 2
SOME_FAILED = 3
ALL_FAILED = 4
NOT_BUILT = 5
"""A command that is named already, and comes later."""
INTERRUPTED = 130
OUTPUT_CLOSED = 141
"""Who read the output went away, as `head` does: what shells show for SIGPIPE."""


def exit_code(done: int, failed: int) -> int:
    """Of pages: what came of them."""
    if not failed:
        return 0
    return SOME_FAILED if done else ALL_FAILED
