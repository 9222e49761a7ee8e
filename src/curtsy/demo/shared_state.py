"""State that all connections of a site share: plans, counters, the log and open connections."""

import asyncio
from typing import Protocol

from curtsy.demo import site_pages
from curtsy.demo.access_log import AccessLog
from curtsy.demo.answers import Answer
from curtsy.demo.site_pages import Place, Plan

_MOST_PLANS = 4_096
_LARGEST_CACHED = 16 * 1024


class OpenConnection(Protocol):
    """The methods of a connection that the site calls."""

    def close_if_idle(self, since: int) -> None: ...

    def abort(self) -> None: ...


class SharedState:
    def __init__(self, log: AccessLog) -> None:
        self.log = log
        self._connections: set[OpenConnection] = set()
        self._empty = asyncio.Event()
        self._empty.set()
        self._closed = False
        self._plans: dict[tuple[str, str], Plan] = {}
        self._requests: dict[tuple[str, str], int] = {}

    def connected(self, connection: OpenConnection) -> None:
        self._connections.add(connection)
        self._empty.clear()
        if self._closed:
            connection.abort()

    def disconnected(self, connection: OpenConnection) -> None:
        self._connections.discard(connection)
        if not self._connections:
            self._empty.set()

    def close_idle(self, since: int) -> None:
        for connection in tuple(self._connections):
            connection.close_if_idle(since)

    async def close_all(self) -> None:
        self._closed = True  # for connections that were accepted but are not registered yet
        for connection in tuple(self._connections):
            connection.abort()
        await self._empty.wait()

    def answer(self, place: Place, target: str) -> Answer:
        """Returns the response; counts requests only for targets that refuse at first."""
        key = (place.host, target)
        plan = self._plans.get(key)
        if plan is None:
            plan = self._build_plan(key, place)
        if plan.refusal is None:
            return plan.answer
        earlier = self._requests.get(key, 0)
        self._requests[key] = earlier + 1
        return plan.turn(earlier)

    def reset_counts(self) -> None:
        self._requests.clear()

    def _build_plan(self, key: tuple[str, str], place: Place) -> Plan:
        plan = site_pages.plan(place, key[1])
        if len(plan.answer.body) <= _LARGEST_CACHED:
            if len(self._plans) >= _MOST_PLANS:
                self._plans.clear()
            self._plans[key] = plan
        return plan
