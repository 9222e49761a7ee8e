"""What all connections of a site share: its plans, its counters, its log and who is connected."""

import asyncio
from typing import Protocol

from curtsy.demo import pages
from curtsy.demo.access_log import AccessLog
from curtsy.demo.answers import Answer
from curtsy.demo.pages import Place, Plan

_MOST_PLANS = 4_096
_LARGEST_KEPT = 16 * 1024


class Guest(Protocol):
    """A connection, as the site sees it."""

    def leave_if_quiet(self, since: int) -> None: ...

    def abort(self) -> None: ...


class Reception:
    def __init__(self, log: AccessLog) -> None:
        self.log = log
        self._guests: set[Guest] = set()
        self._empty = asyncio.Event()
        self._empty.set()
        self._closed = False
        self._plans: dict[tuple[str, str], Plan] = {}
        self._asked: dict[tuple[str, str], int] = {}

    def arrived(self, guest: Guest) -> None:
        self._guests.add(guest)
        self._empty.clear()
        if self._closed:
            guest.abort()

    def left(self, guest: Guest) -> None:
        self._guests.discard(guest)
        if not self._guests:
            self._empty.set()

    def close_quiet(self, since: int) -> None:
        for guest in tuple(self._guests):
            guest.leave_if_quiet(since)

    async def close_all(self) -> None:
        self._closed = True  # for those that were accepted a moment ago and are not here yet
        for guest in tuple(self._guests):
            guest.abort()
        await self._empty.wait()

    def answer(self, place: Place, target: str) -> Answer:
        """Counts only targets that refuse at first: the others answer everyone alike."""
        key = (place.host, target)
        plan = self._plans.get(key)
        if plan is None:
            plan = self._planned(key, place)
        if plan.refusal is None:
            return plan.answer
        earlier = self._asked.get(key, 0)
        self._asked[key] = earlier + 1
        return plan.turn(earlier)

    def forget_counts(self) -> None:
        self._asked.clear()

    def _planned(self, key: tuple[str, str], place: Place) -> Plan:
        plan = pages.plan(place, key[1])
        if len(plan.answer.body) <= _LARGEST_KEPT:
            if len(self._plans) >= _MOST_PLANS:
                self._plans.clear()
            self._plans[key] = plan
        return plan
