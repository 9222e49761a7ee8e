"""What the doors of schedules and sites work with, beside the desk."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from curtsy import periodic
from curtsy.api.schemas.run_views import run_row, run_shown
from curtsy.api.schemas.runs import Run
from curtsy.errors import StoreAway, StoreFull, WrongState
from curtsy.frontier.clock_sync import synchronise
from curtsy.frontier.fence import TimeShifted
from curtsy.jobs import JobRequest, Submitter
from curtsy.maintenance.tasks import Duties
from curtsy.model.roles import Caller
from curtsy.requests.payloads import Tasks
from curtsy.requests.runs import Mode, ScrapeRequest
from curtsy.schedules.firer import Fired, Firer
from curtsy.schedules.first_job import Made, make
from curtsy.schedules.overlap import give_way_by_hand
from curtsy.schedules.preview.simulation import Prospect, prospect
from curtsy.schedules.preview.survey import Ahead, Surveyor
from curtsy.schedules.schedule import Plan, run_now
from curtsy.schedules.site_schedules import start_run
from curtsy.schedules.task_queue import Owed
from curtsy.schedules.ticker import Ticker
from curtsy.sites.records import gather_next
from curtsy.sites.run_log import log_run
from curtsy.store import Connection, Store

if TYPE_CHECKING:
    from curtsy.api.backend import Desk

T = TypeVar("T")

TIMES_TO_MAKE_ROOM = 5
SECONDS_FOR_A_DUTY = 10.0
GOES_ON = "The duty takes a while: the schedule's runs tell what it did when it is done."
LOOK_EVERY_SECONDS = 0.2
"""So often who waits for a run asks whether it has ended."""
SECONDS_TO_LOOK_AHEAD = 20.0


@dataclass(frozen=True, slots=True)
class Terms:
    """Of jobs that say nothing else."""

    page_max_age: int
    crawl_cache_ttl: int
    result_days: int


class ScheduleDesk:
    def __init__(
        self, desk: "Desk", *, store: Store, submitter: Submitter, terms: Terms,
        on_work: Callable[[], None],
    ) -> None:  # fmt: skip
        self._desk, self._submitter, self._store = desk, submitter, store
        self._on_work = on_work
        tasks = Tasks(page_max_age=terms.page_max_age, crawl_cache_ttl=terms.crawl_cache_ttl)
        self._firer = Firer(clock=desk.clock, limits=submitter.limits,
                            delay_ms=submitter.delay_ms, task_of=tasks,
                            pending=submitter.pending)  # fmt: skip
        self.check_task = self._firer.check
        self._foretelling = asyncio.Lock()  # it takes a core, so only one at a time
        self._surveyor = Surveyor(task_of=tasks, limits=submitter.limits, defaults=desk.policy)
        duties = Duties(store=store, clock=desk.clock, keep_days=terms.result_days)
        owed = Owed(store=store, duties=duties.by_name())
        self.ticker = Ticker(store=store, clock=desk.clock, firer=self._firer, owed=owed,
                             on_work=on_work)  # fmt: skip
        """Fires what is due: a process that is to keep the schedules runs it."""

    async def change(self, work: Callable[[Connection], T]) -> T:
        """Other processes that keep the schedules look once a second."""
        changed = await self._desk.write(work)
        self.ticker.wake()
        return changed

    async def make(self, request: JobRequest, plan: Plan) -> Made:
        """A job for the first slot of a new schedule, or the one that was made for the same."""
        self._submitter.check(request)
        limits, now = self._submitter.limits, self._desk.clock.now()

        def work(connection: Connection) -> Made:
            self.check_task(connection, plan.payload, plan, now)
            return make(connection, plan, request, limits, now=now)

        return await self.change(work)

    async def run(self, name: str) -> Fired:
        """Now, by hand."""
        await self._count_pending()
        fired = await self._run(name, self._desk.clock.now())
        self.ticker.tell(fired)
        return fired if fired.duty is None else await self._begun(fired)

    async def _begun(self, fired: Fired) -> Fired:
        """What the duty came to, if that is soon; if not, it goes on by itself."""
        done = self.ticker.owed.add(fired)
        self._desk.begin(self.settle())
        await asyncio.wait([done], timeout=SECONDS_FOR_A_DUTY)
        return done.result() if done.done() else fired._replace(message=GOES_ON)

    async def settle(self) -> None:
        """Do all duties that are owed here, also if the store is away for a moment."""
        owed = self.ticker.owed
        while not owed.is_settled:
            try:
                await owed.step()
            except (StoreAway, StoreFull):
                await asyncio.sleep(periodic.AFTER_FAILURE_SECONDS)

    async def _run(self, name: str, now: int) -> Fired:
        """What is in the way gives way, if the schedule says so; others may run it in the same
        moment, and then that gives way as well."""
        for _ in range(TIMES_TO_MAKE_ROOM):
            try:
                return await self._desk.write(lambda c: run_now(c, name, self._firer, now=now))
            except WrongState:
                if not await self._desk.write(
                    lambda c: give_way_by_hand(c, name, self._firer, now=now)
                ):
                    raise
        return await self._desk.write(lambda c: run_now(c, name, self._firer, now=now))

    async def start_run(self, asked: ScrapeRequest, caller: Caller, mode: Mode) -> str:
        """Its id. Raises `WrongState` while another run of the site goes on."""
        submitter = self._submitter
        await self._count_pending()
        submitted = await self._desk.write(
            lambda c: start_run(c, asked.site_name, asked.search(), priority=asked.priority,
                                mode=mode, limits=submitter.limits, delay_ms=submitter.delay_ms,
                                clock=self._desk.clock, pending=submitter.pending, by=caller)
        )  # fmt: skip
        self._on_work()
        log_run("run_queued", asked.site_name, submitted.job, "queued")
        return submitted.job

    async def _count_pending(self) -> None:
        await self._desk.in_time(self._submitter.pending.count(self._store))

    async def has_ended(self, run: str, *, within: float) -> bool:
        until = asyncio.get_running_loop().time() + within
        while (await self._desk.read(lambda c: run_row(c, run))).finished_at is None:
            if asyncio.get_running_loop().time() >= until:
                return False
            await asyncio.sleep(LOOK_EVERY_SECONDS)
        return True

    async def read_run(self, run: str) -> Run:
        """Whoever looks first at a run that has ended compares its records with those before."""
        row, shown = await self._desk.read(lambda c: _shown(c, run))
        if row.finished_at is None or row.gathered_at is not None or row.site is None:
            return shown
        await self._gather(row.site)
        return (await self._desk.read(lambda c: _shown(c, run)))[1]

    async def _gather(self, site: str) -> None:
        """Its runs that ended, in their order."""
        now = self._desk.clock.now()
        while ended := await self._desk.write(
            lambda c: gather_next(c, site, now=now), SECONDS_FOR_A_DUTY
        ):
            log_run("run_ended", site, *ended)

    async def tick(self) -> list[Fired]:
        """Fire at once what is due; duties among it are begun."""
        fired = await self._desk.in_time(self._tick(), SECONDS_FOR_A_DUTY)
        self._desk.begin(self.settle())
        return fired

    async def _tick(self) -> list[Fired]:
        while True:
            try:
                return await self.ticker.tick()
            except TimeShifted:  # another process saw the clock jump, and we have not yet
                await synchronise(self._store, self._desk.clock)

    async def foretell(self, user: str | None, *, now: int, until: int) -> tuple[Ahead, Prospect]:
        """What the schedules will do, of everybody or of one user; nothing is written."""
        async with self._foretelling:
            looking = self._store.read(lambda c: self._surveyor.look_ahead(c, user=user, now=now))
            ahead = await self._desk.in_time(looking, SECONDS_TO_LOOK_AHEAD)
            found = await asyncio.to_thread(
                prospect, ahead.schedules, ahead.sources, now=now, until=until
            )
        return ahead, found


def _shown(connection: Connection, run: str) -> tuple[Any, Run]:
    """The run's row, and all of it as it stood at that same moment."""
    row = run_row(connection, run)
    return row, run_shown(connection, row)
