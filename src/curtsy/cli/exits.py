"""Exit codes: 0 all is well, 1 an error, 2 wrong usage, 3 some pages failed, 4 all did."""

SOME_FAILED = 3
ALL_FAILED = 4


def exit_code(done: int, failed: int) -> int:
    if not failed:
        return 0
    return SOME_FAILED if done else ALL_FAILED
