"""Compares the predicted end of a job with its actual end."""

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

from bench.setting_up import LOOPBACK
from curtsy.clock import Clock
from curtsy.explain.plan import build_plan, read_plan_facts
from curtsy.explain.why import eta
from curtsy.jobs import JobRequest, SubmitLimits, Submitter
from curtsy.jobs.job_request import check
from curtsy.politeness.policy import Policy
from curtsy.store import Statement, Store

READ_AT = {"eta at a tenth": 0.1, "eta half-way": 0.5}
_JOB = Statement("SELECT id, created_at, finished_at FROM jobs WHERE public_id = :job")

Errors = dict[str, float]
"""The error of each prediction, in percent of the job's duration."""


async def run_and_compare(
    store: Store, clock: Clock, door: Submitter, request: JobRequest, policy: Policy,
    until: Callable[[str], Coroutine[Any, Any, int]], errors: Errors,
) -> int:  # fmt: skip
    """Submits the job, records the predictions of its end, waits for it and returns its pages."""
    wanted = check(request, SubmitLimits(allow=LOOPBACK))
    now = clock.now()
    facts = await store.read(lambda c: read_plan_facts(c, wanted, 0, policy, now=now))
    predicted = {"plan": build_plan(wanted, facts, policy, user_agent="curtsy", now=now).finish_at}
    job = (await door.submit(request)).job
    row = await store.read(lambda c: _JOB(c, job=job).one())
    span, ended = predicted["plan"] - now, asyncio.create_task(until(job))
    for name, part in READ_AT.items():
        await asyncio.sleep(max(0, row.created_at + part * span - clock.now()) / 1000)
        read_eta = partial(eta, job_id=row.id, defaults=policy, now=clock.now())
        at = await store.read(read_eta)
        predicted[name] = at if at is not None else 0
    done = await ended
    row = await store.read(lambda c: _JOB(c, job=job).one())
    took = row.finished_at - row.created_at
    errors |= {name: 100 * abs(at - row.finished_at) / took for name, at in predicted.items()}
    return done
