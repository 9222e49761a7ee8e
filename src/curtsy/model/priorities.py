"""Converts priorities of Celery, where 9 is the most urgent, to ours, where 1 is the first."""

CELERY_PRIORITIES = range(10)
"""From 0, the last, to 9, the most urgent."""


def from_celery(priority: int) -> int:
    """9, 8, 7 become 1, 2, 3 (high), 6 to 3 become 4 to 7 (medium), 2, 1, 0 become 8, 9, 10 (low).

    Raises `ValueError` with a sentence.
    """
    if isinstance(priority, bool) or priority not in CELERY_PRIORITIES:
        raise ValueError(
            f"priority is {priority!r}: it must be from 0 (last) to 9 (most urgent), as for Celery."
        )
    return 10 - priority
