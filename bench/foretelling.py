"""What was said of a job's end, beside when it came."""

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

from bench.setting_up import LOOPBACK
from curtsy.clock import Clock
from curtsy.explain.plan import build_plan, read_plan_facts
from curtsy.explain.why import eta
from curtsy.jobs import JobRequest, SubmitLimits, Submitter
from curtsy.jobs.request import check
from curtsy.politeness.policy import Policy
from curtsy.store import Statement, Store

LOOKS = {"eta at a tenth": 0.1, "eta half-way": 0.5}
_JOB = Statement("SELECT id, created_at, finished_at FROM jobs WHERE public_id = :job")

Errors = dict[str, float]
"""By what was said: how far it was off, in hundredths of the time that the job took."""


async def foretold(
    store: Store, clock: Clock, door: Submitter, request: JobRequest, policy: Policy,
    until: Callable[[str], Coroutine[Any, Any, int]], errors: Errors,
) -> int:  # fmt: skip
    """Submit the job, note what is said of its end, and wait for it; returns its pages."""
    wanted = check(request, SubmitLimits(allow=LOOPBACK))
    now = clock.now()
    found = await store.read(lambda c: read_plan_facts(c, wanted, 0, policy, now=now))
    said = {"plan": build_plan(wanted, found, policy, user_agent="curtsy", now=now).finish_at}
    job = (await door.submit(request)).job
    row = await store.read(lambda c: _JOB(c, job=job).one())
    span, ended = said["plan"] - now, asyncio.create_task(until(job))
    for name, part in LOOKS.items():
        await asyncio.sleep(max(0, row.created_at + part * span - clock.now()) / 1000)
        look = partial(eta, job_id=row.id, defaults=policy, now=clock.now())
        at = await store.read(look)
        said[name] = at if at is not None else 0
    done = await ended
    row = await store.read(lambda c: _JOB(c, job=job).one())
    took = row.finished_at - row.created_at
    errors |= {name: 100 * abs(at - row.finished_at) / took for name, at in said.items()}
    return done
