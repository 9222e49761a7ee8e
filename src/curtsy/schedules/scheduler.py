"""The parts that fire schedules, built once in a process and shared by its loops and its API."""

from dataclasses import dataclass

from curtsy.schedules.firer import Firer
from curtsy.schedules.preview.survey import Surveyor
from curtsy.schedules.ticker import Ticker


@dataclass(frozen=True, slots=True)
class Scheduler:
    firer: Firer
    """Turns due slots into jobs, within a transaction."""
    ticker: Ticker
    """The loop that fires due slots, and the queue of maintenance tasks that they owe."""
    surveyor: Surveyor
    """Reads what a preview of the schedules is computed from."""
