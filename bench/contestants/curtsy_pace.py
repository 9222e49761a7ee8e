"""What deciding about a start costs: a pace without rules, with each of them, and with all."""

import random
import time
from typing import Any

from bench.children import contestant
from curtsy.politeness.hours import Hours
from curtsy.politeness.pace import Pace
from curtsy.politeness.policy import Policy

NOON = 1_793_000_000_000
"""In October 2026: the clocks change within days."""
SLOWER = Hours(start=480, end=1_200, timezone="Europe/Berlin", slowdown=2.0)
LIMIT = {"requests_per_hour": 1_800, "burst_limit": 20}
POLICIES = {
    "none": Policy(min_delay=0),
    "delay": Policy(min_delay=500),
    "random": Policy(min_delay=500, max_delay=1_500),
    "limit": Policy(min_delay=500, **LIMIT),
    "slower": Policy(min_delay=500, hours=SLOWER),
    "closed": Policy(min_delay=500, hours=Hours(0, 300, "Europe/Berlin", closed=True)),
    "full": Policy(min_delay=500, max_delay=1_500, hours=SLOWER, **LIMIT),
}
CALM, STRAINED = (40, 60), (400, 4_000)
"""Milliseconds in which a site answers."""


def per_start(policy: Policy, answers: tuple[int, int], number: int) -> float:
    """Processor microseconds of all calls of the pace from one start to the next."""
    rng = random.Random(1)
    heard = [rng.randint(*answers) for _ in range(number)]
    pace = Pace(policy, rest_until=0, offset=NOON)
    now, began = 0, time.process_time()
    for ms in heard:
        while wait := pace.wait(now):
            now += wait
        pace.started()
        pace.sent(now, rng)
        pace.observe(ms)
        pace.ended(now + 1, rng, was_sent=True)
    return (time.process_time() - began) / number * 1e6


def keeping(number: int) -> float:
    """Microseconds to store the pace of a source with 600 requests in the last hour."""
    rng = random.Random(1)
    pace = Pace(Policy(min_delay=0, requests_per_hour=600, burst_limit=600), rest_until=0)
    for now in range(0, 600_000, 1_000):
        pace.started()
        pace.sent(now, rng)
        pace.ended(now, rng, was_sent=True)
    began = time.process_time()
    for _ in range(number):
        pace.stored()
    return (time.process_time() - began) / number * 1e6


def measure(number: int) -> dict[str, Any]:
    found = {name: per_start(policy, CALM, number) for name, policy in POLICIES.items()}
    found["strained"] = per_start(POLICIES["full"], STRAINED, number)
    return found | {"keeping": keeping(500)}


if __name__ == "__main__":
    contestant(measure)
