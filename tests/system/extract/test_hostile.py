"""A hostile scraper reaches nothing, neither when its file is imported nor at a page; nor does a
built-in parser that a page has taken over."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from curtsy.extract.landlock import landlock_version

HERE = Path(__file__).parent
WORD = "a-word-that-nobody-else-has"
HOSTILE = """
import json
import os
from curtsy.scrapers import scraper
from hostile_attempts import attempts

TARGETS = {{**json.loads({targets!r}), "worker": os.getppid()}}
AT_IMPORT = attempts(TARGETS)

@scraper
def hostile(page):
    return {{"at import": AT_IMPORT, "at a page": attempts(page.params)}}
"""
READING = (
    "read /etc/shadow", "read /etc/passwd", "read the database", "read the settings",
    "read a file elsewhere", "list the processes", "list the root folder",
    "read the worker's command line",
)  # fmt: skip
"""Only Landlock refuses these: a filter sees no paths."""
REFUSALS = {"Operation not permitted", "Permission denied", "PermissionError"}
ODD = {
    "call what nobody knows": "Function not implemented",
    "clone into a namespace": "Operation not permitted",
}
PLACES = [("hostile", "at import"), ("hostile", "at a page"), ("evil_scraper", "at a page")]

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the kernel refuses it on Linux")


def scraped(folder: Path, scraper: str, module: str) -> dict[str, Any]:
    """One page in a worker that has secrets, with everything that the scraper may reach for."""
    (folder / "curtsy.db").write_text(WORD)
    (folder / "curtsy.toml").write_text(f'user_agent = "{WORD}"')
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "notes.txt").write_text(WORD)
    victim = subprocess.Popen(["sleep", "300"], start_new_session=True)
    with socket.create_server(("127.0.0.1", 0)) as server:
        targets = {
            "word": WORD, "victim": victim.pid, "file": str(folder / "mine.py"),
            "database": str(folder / "curtsy.db"), "settings": str(folder / "curtsy.toml"),
            "elsewhere": str(elsewhere / "notes.txt"), "folder": str(folder),
            "server": server.getsockname(),
        }  # fmt: skip
        (folder / "mine.py").write_text(HOSTILE.format(targets=json.dumps(targets)))
        command = [sys.executable, str(HERE / "hostile_worker.py"), scraper, module]
        try:
            ended = subprocess.run([*command, json.dumps(targets)], cwd=elsewhere, env=secrets(),
                                   capture_output=True, text=True, timeout=200,
                                   check=False)  # fmt: skip
            status = psutil.Process(victim.pid).status()
        finally:
            victim.kill()
            victim.wait()
    assert ended.returncode == 0, ended.stderr
    files = sorted(one.name for one in folder.iterdir())
    return {**json.loads(ended.stdout), "victim": status, "files": files}


def secrets() -> dict[str, str]:
    """As of somebody who keeps all secrets there, with names that tell and names that do not."""
    path = os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])
    named = ("REDIS_URL", "PGPASSWORD", "AWS_SECRET_ACCESS_KEY", "PGHOST", "SMTP", "WEBHOOK")
    return {"PATH": os.environ["PATH"], "PYTHONPATH": path, **dict.fromkeys(named, WORD),
            "DATABASE_URL": f"postgresql://u:{WORD}@h/d"}  # fmt: skip


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    modules = {"hostile": "curtsy.extract.fork_server", "evil_scraper": "evil_fork_server"}
    return {
        scraper: scraped(tmp_path_factory.mktemp(scraper), scraper, module)
        for scraper, module in modules.items()
    }


def unrefused(tried: dict[str, str]) -> dict[str, str]:
    return {name: said for name, said in tried.items()
            if said not in REFUSALS and said != ODD.get(name)}  # fmt: skip


@pytest.mark.parametrize(("scraper", "place"), PLACES)
def test_every_attempt_of_a_hostile_scraper_is_refused(
    outcomes: dict[str, dict[str, Any]], scraper: str, place: str
) -> None:
    tried = outcomes[scraper]["record"][place]
    assert len(tried) > 60
    without_landlock = {} if landlock_version() else dict.fromkeys(READING, "done")
    assert unrefused(tried) == without_landlock


@pytest.mark.parametrize("scraper", ["hostile", "evil_scraper"])
def test_nothing_was_harmed(outcomes: dict[str, dict[str, Any]], scraper: str) -> None:
    found = outcomes[scraper]
    assert found["victim"] == psutil.STATUS_SLEEPING
    assert found["files"] == ["curtsy.db", "curtsy.toml", "elsewhere", "mine.py"]


def test_a_worker_shows_no_other_process_of_its_user_its_memory(
    outcomes: dict[str, dict[str, Any]],
) -> None:
    assert [one["dumpable"] for one in outcomes.values()] == [0, 0]


def test_without_landlock_a_scraper_reads_files_and_nothing_else(tmp_path: Path) -> None:
    found = scraped(tmp_path, "hostile", "old_kernel_fork_server")
    for place in ("at import", "at a page"):
        assert set(unrefused(found["record"][place])) == set(READING), "as the documents say"
    assert found["victim"] == psutil.STATUS_SLEEPING
