"""`python -m curtsy.extract.inspection FILE…`: which scrapers of your own there are.

What others wrote is imported here and in the nursery, and nowhere else. This process says what it
found, or what is wrong, and ends.
"""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson

from curtsy.errors import BadSetting
from curtsy.extract.confinement import confine, die_with_parent, without_secrets
from curtsy.scrapers.loader import Unusable, installed, load_own
from curtsy.scrapers.registry import OwnScrapers

WITHIN_SECONDS = 20.0
MEMORY_BYTES = 2 * 2**30


def inspected(files: Sequence[str], *, seconds: float = WITHIN_SECONDS) -> OwnScrapers:
    """The scrapers of these files and of installed packages. Raises `BadSetting` with a reason.

    Takes as long as importing them does: not for a loop that others wait for.
    """
    paths = tuple(str(Path(file).absolute()) for file in files)
    if not paths and not installed():
        return OwnScrapers()
    told = _asked(paths, seconds)
    if "problem" in told:
        raise BadSetting(f"SCRAPERS: {told['problem']}")
    return OwnScrapers(paths, told["scrapers"])


def _asked(paths: Sequence[str], seconds: float) -> dict[str, Any]:
    try:
        ended = subprocess.run(  # noqa: S603 - our own module, no shell
            [sys.executable, "-m", "curtsy.extract.inspection", *paths],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            env=without_secrets(os.environ), timeout=seconds, check=False,
        )  # fmt: skip
        told: dict[str, Any] = orjson.loads(ended.stdout)
    except subprocess.TimeoutExpired:
        return {"problem": f"{_named(paths)} could not be imported within {seconds:g} s."}
    except orjson.JSONDecodeError:
        status = ended.returncode
        return {"problem": f"{_named(paths)} ended the process that imports it ({status})."}
    return told


def _named(paths: Sequence[str]) -> str:
    return ", ".join(paths) if paths else "An installed package's scraper"


def _inspect(paths: Sequence[str]) -> None:
    die_with_parent()
    answer = os.dup(1)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)  # what is printed on the way is not the answer
    confine(memory_bytes=MEMORY_BYTES, alone=True)
    try:
        found = {own.name: own.doc for own in load_own(paths).values()}
        said: dict[str, Any] = {"scrapers": found}
    except Unusable as unusable:
        said = {"problem": str(unusable)[:8_000]}
    with open(answer, "wb") as file:  # noqa: PTH123 - it is open already
        file.write(orjson.dumps(said))
    os._exit(0)  # what was imported may have left threads behind


if __name__ == "__main__":
    _inspect(sys.argv[1:])
