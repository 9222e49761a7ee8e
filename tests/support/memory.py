"""Where tests keep their files: in memory, if the machine has some to spare.

Databases are made, emptied and thrown away thousands of times; a disk would have to do it all.
"""

import os
import shutil
import tempfile
from pathlib import Path

MEMORY = Path("/dev/shm")
ENOUGH_BYTES = 4 * 1024**3
NAMED_BY_THE_USER = ("TMPDIR", "TEMP", "TMP")


def files_in_memory() -> None:
    """From now on, here and in the processes that are started from here. Whoever names a folder
    for temporary files keeps it."""
    if any(name in os.environ for name in NAMED_BY_THE_USER) or not MEMORY.is_dir():
        return
    if shutil.disk_usage(MEMORY).free >= ENOUGH_BYTES:
        os.environ["TMPDIR"] = str(MEMORY)
        tempfile.tempdir = None
