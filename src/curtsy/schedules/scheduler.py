"""The parts that fire schedules: built once per process, shared by its loops and its API."""

from dataclasses import dataclass

from curtsy.schedules.firer import Firer
from curtsy.schedules.preview.survey import Surveyor
from curtsy.schedules.ticker import Ticker


@dataclass(frozen=True, slots=True)
class Scheduler:
    firer: Firer
    """Submits the jobs of due slots, within a transaction."""
    ticker: Ticker
    """The loop that fires due slots, with the queue of their maintenance tasks."""
    surveyor: Surveyor
    """Reads the input of a preview."""
