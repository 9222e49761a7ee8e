"""Objects and settings that all lanes of a worker share."""

import random
from collections.abc import Callable
from dataclasses import dataclass

from curtsy.clock import Clock
from curtsy.politeness.policy import Policy
from curtsy.worker.flusher import Flusher
from curtsy.worker.lookahead import VisitTaker
from curtsy.worker.pipeline import Pipeline
from curtsy.worker.sent_posts import SentMarks
from curtsy.worker.sessions.page_sessions import ReadJar
from curtsy.worker.worker_slots import WorkerSlots


@dataclass(frozen=True, slots=True)
class LaneContext:
    clock: Clock
    slots: WorkerSlots
    taker: VisitTaker
    flusher: Flusher
    pipeline: Pipeline
    sent_marks: SentMarks
    trusted: Callable[[], bool]
    defaults: Policy
    trust: int
    """Milliseconds that an owner may continue without reaching the store."""
    rng: random.Random
    read_jar: ReadJar
    keeps: Callable[[], bool]
    """Whether a lane whose budget ends may keep its source: no other worker needs it more."""
