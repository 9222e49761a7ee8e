"""Stops transactions at a chosen statement, to force an interleaving."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import pytest

from curtsy.store import Connection, Store
from curtsy.store import store as store_module
from curtsy.store.greenlet_bridge import wait_for
from support.patience import PATIENCE
from support.sql import run, text


class Held:
    """Wraps a statement (or another function of a connection). The first call waits before it runs
    until `let_go`; later calls run at once."""

    def __init__(self, inner: Callable[..., Any]) -> None:
        self._inner = inner
        # not events: a large transaction runs in a thread with a loop of its own
        self._reached: Future[None] = Future()
        self._go: Future[None] = Future()

    def __call__(self, connection: Connection, /, *given: Any, **values: Any) -> Any:
        if not self._reached.done():
            self._reached.set_result(None)
            wait_for(asyncio.wrap_future(self._go))
        return self._inner(connection, *given, **values)

    async def reached(self) -> None:
        async with asyncio.timeout(PATIENCE):
            await asyncio.wrap_future(self._reached)

    def let_go(self) -> None:
        self._go.set_result(None)


def hold(monkeypatch: pytest.MonkeyPatch, module: Any, name: str) -> Held:
    held = Held(getattr(module, name))
    monkeypatch.setattr(module, name, held)
    return held


async def blocked_or_done(store: Store, task: asyncio.Task[Any], *, waiting: int = 1) -> bool:
    """Waits until the task has ended or this many sessions wait for a lock; True: they wait."""
    blocked = text(
        "SELECT count(*) FROM pg_stat_activity "
        "WHERE datname = current_database() AND wait_event_type = 'Lock'"
    )
    async with asyncio.timeout(PATIENCE):
        while not task.done():
            if await store.read(lambda c: run(c, blocked).scalar_one()) >= waiting:
                return True
            await asyncio.sleep(0.002)
    return False


class Repeats:
    """Records the SQL states for which the store repeated a transaction or gave up."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.states: list[str] = []
        self.told: list[str] = []
        """The statements that failed, with the server's details."""
        inner = store_module.to_curtsy_error

        def record(error: BaseException, url: str) -> Any:
            if state := getattr(error, "sqlstate", None):
                self.states.append(state)
                details = [getattr(error, name, None) for name in ("detail", "context")]
                self.told.append(f"{state}: {details}")
            return inner(error, url)

        monkeypatch.setattr(store_module, "to_curtsy_error", record)

    @property
    def deadlocks(self) -> int:
        return self.states.count("40P01")


@pytest.fixture
def repeats(monkeypatch: pytest.MonkeyPatch) -> Repeats:
    return Repeats(monkeypatch)
