"""The Tab key, as bash asks for it."""

import subprocess
import sys
from pathlib import Path

from cli.conftest import Curtsy
from cli.running import environment


def _offered(folder: Path, line: str) -> list[str]:
    """For the last word of the line."""
    asked = {"_CURTSY_COMPLETE": "complete_bash", "COMP_WORDS": line,
             "COMP_CWORD": str(len(line.split(" ")) - 1)}  # fmt: skip
    program = "import sys; sys.argv = ['curtsy']; from curtsy.cli import main; main()"
    told = subprocess.run([sys.executable, "-c", program], cwd=folder, env=environment() | asked,
                          capture_output=True, text=True, timeout=60)  # fmt: skip
    assert told.stderr == ""
    return told.stdout.split()


def test_commands_options_and_words_are_offered(tmp_path: Path) -> None:
    assert _offered(tmp_path, "curtsy dead") == ["dead-letters"]
    assert _offered(tmp_path, "curtsy dead-letters --re") == ["--retry", "--resolve"]
    assert "succeeded" in _offered(tmp_path, "curtsy jobs --status s")
    assert _offered(tmp_path, "curtsy scrape --format m") == ["markdown"]


def test_jobs_are_offered_where_there_are_some(curtsy: Curtsy, tmp_path: Path) -> None:
    assert _offered(tmp_path, "curtsy status job_") == []
    assert list(tmp_path.iterdir()) == [], "to ask makes no database"
    job = curtsy("submit", "http://a.example/", "--json").json["job_id"]
    assert _offered(tmp_path, "curtsy status job_") == [job]
    assert _offered(tmp_path, "curtsy results x") == []
