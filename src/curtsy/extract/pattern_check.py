"""`python -m curtsy.extract.pattern_check`: compiles regular expressions of users.

Compiling is Python code that a short pattern can keep busy for minutes, and matching even longer.
Both therefore happen in confined processes only: here when a recipe is submitted, and in the child
that scrapes a page.
"""

import os
import signal
import subprocess
import sys
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from threading import Lock
from typing import Any

import orjson

from curtsy.errors import OverLimit
from curtsy.extract.confinement import confine, die_with_parent, without_secrets
from curtsy.offload import offload
from curtsy.scrapers.recipe import BadPattern, BadRecipe, compile_pattern, parse_recipe, patterns_of

COMPILE_SECONDS = 1.0
"""Processor time for all patterns of a recipe."""
WITHIN_SECONDS = 60.0
"""For the process to start and end, on a busy machine."""
MEMORY_BYTES = 256 * 2**20
MOST_REMEMBERED = 4_096

TOO_SLOW = f"takes more than {COMPILE_SECONDS:g} s of processor time to compile: simplify it"
_verdicts: OrderedDict[str, str | None] = OrderedDict()
"""The problem of each pattern that was checked lately; None: it has none."""
_lock = Lock()


async def check_patterns(params: Mapping[str, Any]) -> None:
    """Raises `BadRecipe` if the recipe of these parameters, or a pattern of it, cannot be used."""
    if patterns := patterns_of(params):
        parse_recipe(params["recipe"])
        raise_problems(patterns, await offload(problems_of, patterns.values()))


def raise_problems(patterns: Mapping[str, str], problems: Mapping[str, str | None]) -> None:
    if found := [f"{where} {problem}." for where, pattern in patterns.items()
                 if (problem := problems[pattern]) is not None]:  # fmt: skip
        raise BadRecipe(found)


def problems_of(patterns: Iterable[str]) -> dict[str, str | None]:
    """Returns what is wrong with each pattern; None: nothing. Blocks while a process compiles those
    that are not remembered."""
    wanted = dict.fromkeys(patterns)
    with _lock:
        found = {pattern: _verdicts[pattern] for pattern in wanted if pattern in _verdicts}
    if unknown := [pattern for pattern in wanted if pattern not in found]:
        compiled = _compile_apart(unknown)
        found |= compiled
        with _lock:
            _verdicts.update(compiled)
            while len(_verdicts) > MOST_REMEMBERED:
                _verdicts.popitem(last=False)
    return found


def _compile_apart(patterns: list[str]) -> dict[str, str | None]:
    """Patterns after the one that used up the time are refused with it: their cost is unknown."""
    try:
        ended = subprocess.run(
            [sys.executable, "-m", "curtsy.extract.pattern_check"],
            input=orjson.dumps(patterns), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            env=without_secrets(os.environ), timeout=WITHIN_SECONDS, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise OverLimit(
            "The patterns of the recipe could not be checked in time: try again."
        ) from None
    answered = [orjson.loads(line) for line in ended.stdout.splitlines()]
    return dict(zip(patterns, answered + [TOO_SLOW] * (len(patterns) - len(answered)), strict=True))


def _compile_all() -> None:
    die_with_parent()
    patterns = orjson.loads(sys.stdin.buffer.read())
    confine(memory_bytes=MEMORY_BYTES, no_processes=True)
    signal.setitimer(signal.ITIMER_VIRTUAL, COMPILE_SECONDS)  # its signal ends the process
    for pattern in patterns:
        try:
            compile_pattern(pattern)
            problem = None
        except BadPattern as bad:
            problem = str(bad)
        sys.stdout.buffer.write(orjson.dumps(problem) + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    _compile_all()
