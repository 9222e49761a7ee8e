"""Stores the files of tests in memory, if the machine has enough.

Tests create, empty and delete databases thousands of times, which is slow on a disk.
"""

import os
import shutil
import tempfile
from pathlib import Path

MEMORY = Path("/dev/shm")
ENOUGH_BYTES = 4 * 1024**3
NAMED_BY_THE_USER = ("TMPDIR", "TEMP", "TMP")


def files_in_memory() -> None:
    """Sets TMPDIR for this process and its children, unless the user has set a folder."""
    if any(name in os.environ for name in NAMED_BY_THE_USER) or not MEMORY.is_dir():
        return
    if shutil.disk_usage(MEMORY).free >= ENOUGH_BYTES:
        os.environ["TMPDIR"] = str(MEMORY)
        tempfile.tempdir = None
