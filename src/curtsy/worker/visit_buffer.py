"""The visits that a lane has read of its source, in order, and its cursors.

A cursor per priority skips visits that were read, and with them the dead rows before it. Once a
second the cursor goes back, to find better or fairer visits that came since: not to the beginning,
but to the floor, a rank below which no visit can appear any more.
"""

import heapq
from collections import Counter, deque

import orjson

from curtsy.frontier.take import Position, TakeRequest, Visit, order_of

SETTLED_AFTER = 60_000
"""Milliseconds after which a submit that saw an older virtual time is visible or has failed."""


class VisitBuffer:
    def __init__(self, source_id: int, ranks: dict[str, list[int]], now: int) -> None:
        self._source_id = source_id
        self._virtual = {int(p): virtual for p, (virtual, _floor) in ranks.items()}
        self._floor = {int(p): floor for p, (_virtual, floor) in ranks.items()}
        self._history: deque[tuple[int, dict[int, int]]] = deque([(now, dict(self._virtual))])
        self._top: dict[int, int] = {}
        self._cursor: dict[int, Position] = {}
        self._last_reach = 0
        self._unread: set[int] = set()
        """Priorities that the last reading did not read to the end."""
        self._heap: list[tuple[tuple[int, int, int], int, Visit]] = []
        self.held: dict[int, Visit] = {}
        """Visits by page that were read and are not yet flushed."""
        self._flushed: set[tuple[int, int]] = set()
        """Page and turn of flushed visits: a reading that began before the flush may still return
        them. At most as many as a budget has."""

    def __bool__(self) -> bool:
        """Whether `pop` would return a visit."""
        return self.best() is not None

    def take_request(self, want: int, *, rewind: bool, from_zero: bool = False) -> TakeRequest:
        """Returns the next read of the queue; with `rewind` it must reach past the held visits."""
        if from_zero:
            self._cursor = {}
        elif rewind:
            self._cursor = {p: (floor, -1) for p, floor in self._floor.items()}
        reach = want + len(self.held) if rewind else want
        self._last_reach = reach
        more = None if rewind or not self._unread else frozenset(self._unread)
        return TakeRequest(self._source_id, dict(self._cursor), reach, more)

    def add(self, visits: list[Visit]) -> int:
        """Adds the visits that are new; returns their number."""
        new = 0
        found = Counter(visit.priority for visit in visits if visit.due_at is None)
        self._unread = {p for p, number in found.items() if number >= self._last_reach}
        for visit in visits:
            if visit.due_at is None:
                position = (visit.rank, visit.page_id)
                if position > self._cursor.get(visit.priority, (-1, -1)):
                    self._cursor[visit.priority] = position
            if visit.page_id not in self.held and (visit.page_id, visit.turn) not in self._flushed:
                self.held[visit.page_id] = visit
                heapq.heappush(self._heap, (order_of(visit), -visit.turn, visit))
                new += 1
        return new

    def pop(self) -> Visit | None:
        while self._heap:
            _order, _turn, visit = heapq.heappop(self._heap)
            if self.held.get(visit.page_id) is visit:
                if visit.due_at is None:
                    top = self._top.get(visit.priority, 0)
                    self._top[visit.priority] = max(top, visit.rank)
                return visit
        return None

    def put_back(self, visit: Visit) -> None:
        heapq.heappush(self._heap, (order_of(visit), -visit.turn, visit))

    def best(self) -> Visit | None:
        while self._heap and self.held.get(self._heap[0][2].page_id) is not self._heap[0][2]:
            heapq.heappop(self._heap)
        return self._heap[0][2] if self._heap else None

    def flushed(self, visit: Visit) -> None:
        self._flushed.add((visit.page_id, visit.turn))
        self.forget(visit)

    def forget_flushed(self) -> None:
        """To be called while no reading is under way: later readings cannot return them."""
        self._flushed.clear()

    def forget(self, visit: Visit) -> None:
        """Forgets a visit that was read: the next reading may return its page again."""
        if self.held.get(visit.page_id) is visit:
            del self.held[visit.page_id]

    def ranks(self, now: int) -> str:
        """Returns virtual time and floor by priority, as they are stored with the source."""
        held_from: dict[int, int] = {}
        for visit in self.held.values():
            if visit.due_at is None:
                known = held_from.get(visit.priority, visit.rank)
                held_from[visit.priority] = min(known, visit.rank)
        for priority, top in self._top.items():
            reached = held_from.get(priority, top + 1) - 1
            self._virtual[priority] = max(self._virtual.get(priority, 0), min(reached, top))
        self._update_floor(now)
        stored = {str(p): [v, self._floor.get(p, 0)] for p, v in self._virtual.items()}
        return orjson.dumps(stored).decode()

    def _update_floor(self, now: int) -> None:
        if now - self._history[-1][0] >= SETTLED_AFTER // 10:
            self._history.append((now, dict(self._virtual)))
        while now - self._history[0][0] >= SETTLED_AFTER:
            _at, virtual = self._history.popleft()
            self._floor |= virtual
            if not self._history:
                self._history.append((now, dict(self._virtual)))
