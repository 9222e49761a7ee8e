"""Runs a command in a process of its own and returns what it has loaded when it ends."""

import signal
import subprocess
import sys
import tempfile
from collections.abc import Collection, Mapping
from pathlib import Path

from support.patience import PATIENCE

_PROGRAM = """
import atexit, sys
{also}
def note():
    with open(file, "w") as to:
        to.write("\\n".join(name for name, module in sys.modules.items() if module is not None))
file, *arguments = sys.argv[1:]
atexit.register(note)
sys.argv = ["curtsy", *arguments]
from curtsy.cli import main
main()
"""


def loaded_by(
    *arguments: str, folder: Path, environment: Mapping[str, str], also: Collection[str] = (),
    until: bytes | None = None,
) -> set[str]:  # fmt: skip
    """The modules that `curtsy` with these arguments has loaded, and those in `also` with them.

    With `until` the command runs on: a signal ends it once it has printed a line with that.
    """
    program = _PROGRAM.format(also="\n".join(f"import {name}" for name in also))
    with tempfile.NamedTemporaryFile(mode="r") as noted:
        process = subprocess.Popen(
            [sys.executable, "-c", program, noted.name, *arguments], cwd=folder, env=environment,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        assert process.stdout is not None
        try:
            said = b""
            if until is not None:
                while until not in (line := process.stdout.readline()):
                    said += line
                    assert line, said.decode()
                process.send_signal(signal.SIGTERM)
            said += process.communicate(timeout=PATIENCE)[0]
        finally:
            process.kill()
            process.wait()
        assert process.returncode == 0, said.decode()
        return set(noted.read().splitlines())
