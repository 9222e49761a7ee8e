"""The garbage collector rests while large requests are in progress, and never for ever."""

import gc
import time
from concurrent.futures import wait
from threading import Barrier

import pytest

from curtsy import offload
from curtsy.offload import collector_paused
from support.patience import PATIENCE


def _settle() -> None:
    """Waits until both threads have nothing else to do, and meet."""
    both = Barrier(2)
    wait([offload._THREADS.submit(both.wait, PATIENCE) for _ in range(2)])


def test_the_collector_rests_until_the_last_large_request_ends() -> None:
    with collector_paused():
        with collector_paused():
            assert not gc.isenabled()
        _settle()
        assert not gc.isenabled()
    _settle()
    assert gc.isenabled()


def test_a_failed_request_resumes_it() -> None:
    with pytest.raises(ValueError, match="bad"), collector_paused():
        raise ValueError("bad")
    _settle()
    assert gc.isenabled()


def test_requests_without_a_gap_do_not_stop_it_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    searches: list[str] = []
    monkeypatch.setattr(offload, "LONGEST_PAUSE_SECONDS", 0.0)
    monkeypatch.setattr(gc, "collect", lambda generation=2: searches.append(str(generation)))
    with collector_paused():
        time.sleep(0.001)
        with collector_paused():
            _settle()
            assert searches == ["2"]
    _settle()


async def test_only_many_pages_leave_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    left: list[int] = []

    async def in_thread(function: object, number: int) -> int:
        left.append(number)
        return number

    monkeypatch.setattr(offload, "offload", in_thread)
    assert [await offload.offload_many(n, int, n) for n in (1, 500, 501)] == [1, 500, 501]
    assert left == [501]
