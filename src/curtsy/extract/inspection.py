"""`python -m curtsy.extract.inspection FILE… [--data PATH…]`: lists the user's own scrapers.

Code of others is imported in this process and in the fork server, and nowhere else. This process
prints the scrapers or the problem as JSON, and ends.
"""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson

from curtsy.errors import BadSetting
from curtsy.extract.confinement import allowed_environment, confine, die_with_parent
from curtsy.extract.readable_paths import as_arguments, readable, split_arguments
from curtsy.scrapers.discovery import Unusable, installed, load_own_scrapers
from curtsy.scrapers.registry import OwnScrapers

WITHIN_SECONDS = 20.0
MEMORY_BYTES = 2 * 2**30


def inspect_scrapers(
    files: Sequence[str], *, data: Sequence[str] = (), seconds: float = WITHIN_SECONDS
) -> OwnScrapers:
    """Returns the scrapers of these files and of installed packages, which may read `data`. Raises
    `BadSetting`.

    Blocks while a subprocess imports them: not for an event loop.
    """
    paths = tuple(str(Path(file).absolute()) for file in files)
    if not paths and not installed():
        return OwnScrapers()
    readable_data = tuple(str(Path(one).absolute()) for one in data)
    answer = _run_inspection(paths, readable_data, seconds)
    if "problem" in answer:
        raise BadSetting(f"SCRAPERS: {answer['problem']}")
    return OwnScrapers(paths, answer["scrapers"], readable_data)


def _run_inspection(paths: Sequence[str], data: Sequence[str], seconds: float) -> dict[str, Any]:
    command = [sys.executable, "-m", "curtsy.extract.inspection", *as_arguments(paths, data)]
    try:
        ended = subprocess.run(  # noqa: S603 - our own module, no shell
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            env=allowed_environment(os.environ), timeout=seconds, check=False,
        )  # fmt: skip
        answer: dict[str, Any] = orjson.loads(ended.stdout)
    except subprocess.TimeoutExpired:
        return {"problem": f"{_named(paths)} could not be imported within {seconds:g} s."}
    except orjson.JSONDecodeError:
        status = ended.returncode
        return {"problem": f"{_named(paths)} ended the process that imports it ({status})."}
    return answer


def _named(paths: Sequence[str]) -> str:
    return ", ".join(paths) if paths else "An installed package's scraper"


def _inspect(paths: Sequence[str], data: Sequence[str]) -> None:
    die_with_parent()
    output = os.dup(1)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)  # prints of imported code must not mix with the answer
    confine(readable(paths, data), memory_bytes=MEMORY_BYTES)
    try:
        found = {own.name: own.doc for own in load_own_scrapers(paths).values()}
        answer: dict[str, Any] = {"scrapers": found}
    except Unusable as unusable:
        answer = {"problem": str(unusable)[:8_000]}
    with open(output, "wb") as file:  # noqa: PTH123 - a file descriptor, not a path
        file.write(orjson.dumps(answer))
    os._exit(0)  # imported code may have started threads


if __name__ == "__main__":
    _inspect(*split_arguments(sys.argv[1:]))
