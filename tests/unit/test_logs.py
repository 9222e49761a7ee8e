"""Lines of several processes in one file: those of `--processes`, of a container, of systemd."""

import subprocess
import sys

import pytest

from support.patience import PATIENCE

PROGRAM = """
import sys
from curtsy import logs

class Recorder:
    writes = []
    isatty = flush = lambda self: False

    def write(self, text):
        self.writes.append(text)

sys.stderr = Recorder()
logs.configure(form=sys.argv[1])
logs.logger("app").info("happened", text="a")
logs.logger("app").warning("happened", text="b")
print(*(text.count("\\n") for text in Recorder.writes), Recorder.writes[0][-1] == "\\n")
"""


@pytest.mark.parametrize("form", ["json", "text"])
def test_each_line_is_written_at_once_with_its_end(form: str) -> None:
    """In two writes, the lines of two processes could stand in one."""
    ended = subprocess.run([sys.executable, "-c", PROGRAM, form], capture_output=True, text=True,
                           check=True, timeout=PATIENCE)  # fmt: skip
    assert ended.stdout == "1 1 True\n"
