"""A wall clock that jumps when the test says so, for processes that are started with it."""

import shutil
import struct
import subprocess
import tempfile
from pathlib import Path
from typing import Self

import pytest

_SOURCE = Path(__file__).with_name("clock_shim.c")


class JumpingClock:
    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="curtsy-clock-"))
        self._folder.chmod(0o755)  # the database runs as another user
        self._library, self._offset = self._folder / "clock.so", self._folder / "ahead"
        self.jumps_to(0)

    def __enter__(self) -> Self:
        compiler = shutil.which("cc") or shutil.which("gcc")
        command = [str(compiler), "-shared", "-fPIC", "-O1", "-o", self._library, _SOURCE]
        if compiler is None or subprocess.run(command, capture_output=True).returncode != 0:
            self.__exit__()
            pytest.skip("NOT TESTED: a clock that jumps needs a C compiler on Linux")
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def environment(self) -> dict[str, str]:
        return {"LD_PRELOAD": str(self._library), "JUMPING_CLOCK": str(self._offset)}

    def jumps_to(self, seconds: int) -> None:
        """So far ahead of the true time, from now on, for all who go by it."""
        with self._offset.open("r+b" if self._offset.exists() else "w+b") as file:
            file.write(struct.pack("=q", seconds))
