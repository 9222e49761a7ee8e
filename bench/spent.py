"""What a contestant spent: seconds by the clock, and of the processor in its own process."""

import time


class Spent:
    """Counts from when it is made."""

    def __init__(self) -> None:
        self._began, self._worked = time.perf_counter(), time.process_time()

    def until_now(self) -> dict[str, float]:
        return {
            "seconds": time.perf_counter() - self._began,
            "cpu": time.process_time() - self._worked,
        }
