"""`scripts/start_scheduler.sh` as the operations document types it, in a folder of its own."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pytest

from cli.running import ask, completed, wait_for
from curtsy.demo.process import PracticeProcess
from support.patience import PATIENCE
from support.postgres import free_port

ROOT = Path(__file__).parents[3]
SCRIPT = "./scripts/start_scheduler.sh"
SERVICES = ("api", "scheduler", "worker")
TYPED = {"worker": "celery-worker", "scheduler": "celery-beat", "api": "flower"}
NOT_RUNNING = 3


class Clone:
    """A fresh clone with an installed program; its settings are in `.env`."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder, free_port()
        shutil.copytree(ROOT / "scripts", folder / "scripts")
        (folder / ".venv").symlink_to(sys.prefix)
        self.settings(CURTSY_MIN_DELAY_SECONDS="0.02", CURTSY_ALLOW_ADDRESSES="127.0.0.0/8",
                      API_PORT=str(self.port))  # fmt: skip

    def settings(self, **variables: str) -> None:
        lines = "".join(f"{name}={value}\n" for name, value in variables.items())
        (self.folder / ".env").write_text(lines)

    def does(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        outside = {n: v for n, v in os.environ.items() if not n.startswith("CURTSY_")}
        return subprocess.run(
            [SCRIPT, *arguments], cwd=self.folder, env=outside | environment, capture_output=True,
            text=True, check=False, timeout=2 * PATIENCE,
        )  # fmt: skip

    def process(self, service: str) -> int:
        return int((self.folder / f"run/{service}.pid").read_text().split()[0])

    def log(self, service: str) -> str:
        return (self.folder / f"logs/{service}.log").read_text()

    def end(self) -> None:
        """Kills what a failed test left behind: only processes that began in this folder."""
        for file in self.folder.glob("run/*.pid"):
            number = int(file.read_text().split()[0])
            try:
                if Path(f"/proc/{number}/cwd").resolve() == self.folder.resolve():
                    os.kill(number, signal.SIGKILL)
            except (ProcessLookupError, FileNotFoundError):
                continue


@pytest.fixture
def clone(tmp_path: Path) -> Iterator[Clone]:
    made = Clone(tmp_path)
    yield made
    made.end()


@pytest.fixture(scope="module")
def site() -> Iterator[PracticeProcess]:
    with PracticeProcess(hosts=1) as practice:
        yield practice


def is_alive(number: int) -> bool:
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    return "Z" not in Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0]


def test_it_starts_three_processes_that_do_the_work_once_and_ends_them(
    clone: Clone, site: PracticeProcess
) -> None:
    assert clone.does("status").returncode == NOT_RUNNING
    started = clone.does("start")
    assert started.returncode == 0, started
    processes = [clone.process(service) for service in SERVICES]
    assert len(set(processes)) == len(SERVICES)

    again = clone.does("start")
    assert (again.returncode, again.stdout.count("runs already")) == (0, 3)
    assert [clone.process(service) for service in SERVICES] == processes

    status = clone.does("status")
    assert status.returncode == 0
    for service, typed in TYPED.items():
        assert f"{service} ({typed}) runs (process {clone.process(service)})" in status.stdout

    url = f"http://127.0.0.1:{clone.port}"
    job = ask("POST", f"{url}/jobs", {"url": site.url(0, "/page/1")}).json["id"]
    assert completed(url, job)["status"] == "completed"

    for service, typed in TYPED.items():
        shown = clone.does("logs", typed)
        assert shown.stdout == clone.log(service) == clone.log(typed)
        assert f'"event": "{service}_started"' in shown.stdout
        assert shown.stderr == "", "nothing was said beside the log"

    os.kill(clone.process("scheduler"), signal.SIGKILL)
    wait_for(lambda: clone.does("status").returncode == NOT_RUNNING, lambda: "it still runs")
    assert "scheduler runs (process" in clone.does("start").stdout, "only what is missing starts"

    restarted = clone.does("restart", "celery-worker")
    assert restarted.returncode == 0, restarted
    assert clone.process("worker") not in processes
    assert clone.process("api") in processes, "the others went on"
    before = [clone.process(service) for service in SERVICES]
    assert clone.does("restart").returncode == 0
    assert not {clone.process(service) for service in SERVICES} & set(before)

    stopped = clone.does("stop")
    assert stopped.returncode == 0, stopped
    assert not any(is_alive(number) for number in (*processes, *before))
    assert "worker_stopped" in clone.log("worker"), "it let its requests finish"
    assert clone.does("status").returncode == NOT_RUNNING
    assert not list((clone.folder / "run").glob("*.pid"))


def test_several_starts_at_once_start_each_service_once(clone: Clone) -> None:
    environment = {n: v for n, v in os.environ.items() if not n.startswith("CURTSY_")}
    several = [subprocess.Popen([SCRIPT, "start", "scheduler"], cwd=clone.folder, env=environment,
                             stdout=subprocess.PIPE, text=True) for _ in range(4)]  # fmt: skip
    said = [one.communicate(timeout=PATIENCE)[0] for one in several]
    assert [one.returncode for one in several] == [0] * 4
    assert sum("already" in one for one in said) == 3, said
    assert clone.log("scheduler").count("scheduler_started") == 1
    assert clone.does("stop").returncode == 0


def test_a_process_that_has_the_number_of_an_earlier_one_is_left_alone(clone: Clone) -> None:
    (clone.folder / "run").mkdir()
    with subprocess.Popen(["sleep", "600"]) as other:
        (clone.folder / "run/worker.pid").write_text(f"{other.pid}\n12345\n")
        assert clone.does("status", "worker").returncode == NOT_RUNNING
        assert "worker does not run" in clone.does("stop", "worker").stdout
        assert other.poll() is None
        other.kill()


def test_a_service_that_cannot_start_says_why(clone: Clone) -> None:
    clone.settings(API_PORT="many")
    failed = clone.does("start")
    assert failed.returncode != 0
    assert re.search(r"API_PORT in .*/\.env is 'many'", failed.stderr)
    clone.settings(CURTSY_SITES_FILE="none.toml", API_PORT=str(clone.port))
    failed = clone.does("start", "api")
    assert failed.returncode == 1
    assert "api did not start:\ncurtsy: There is no file" in failed.stderr
    assert clone.does("status", "flower").returncode == NOT_RUNNING
    shown = clone.does("logs", "flower") if (clone.folder / "logs/api.log").exists() else None
    assert shown is None or "There is no file" in shown.stderr


def test_a_quiet_log_does_not_keep_it_from_starting(clone: Clone) -> None:
    script = clone.folder / "scripts/start_scheduler.sh"
    script.write_text(script.read_text().replace("START_TENTHS=300", "START_TENTHS=3"))
    started = clone.does("start", "scheduler", LOG_LEVEL="ERROR")
    assert (started.returncode, "scheduler runs" in started.stdout) == (0, True), started
    assert clone.does("stop").returncode == 0


def test_a_clone_without_the_program_says_what_to_do(clone: Clone) -> None:
    (clone.folder / ".venv").unlink()
    lacking = clone.does("start", PATH="/usr/bin:/bin")
    assert lacking.returncode == 1
    assert "run `make install`" in lacking.stderr


@pytest.mark.parametrize("wrong", [(), ("begin",), ("start", "redis"), ("logs",), ("logs", "mq"),
                                   ("logs", "flower")])  # fmt: skip
def test_what_it_does_not_know_is_refused(clone: Clone, wrong: tuple[str, ...]) -> None:
    refused = clone.does(*wrong)
    assert refused.returncode in (1, 2)
    assert refused.stderr
    assert not list(clone.folder.glob("run/*.pid"))


def test_logrotate_takes_a_log_and_the_process_and_a_follower_go_on_with_a_new_one(
    clone: Clone,
) -> None:
    """Without the program logrotate the file is moved as it moves files."""
    assert clone.does("start", "scheduler").returncode == 0
    follower = subprocess.Popen([SCRIPT, "logs", "celery-beat", "-f"], cwd=clone.folder,
                                stdout=subprocess.PIPE, text=True)  # fmt: skip
    try:
        assert follower.stdout is not None
        read_until(follower.stdout, "scheduler_started")
        rotate(clone.folder)
        assert not (clone.folder / "logs/scheduler.log").exists()
        assert clone.does("stop").returncode == 0
        read_until(follower.stdout, "scheduler_stopped")
    finally:
        follower.kill()
        follower.communicate()
    assert "scheduler_stopped" in clone.log("celery-beat"), "the link leads to the new file"
    assert "scheduler_started" in (clone.folder / "logs/scheduler.log.1").read_text()


def read_until(lines: IO[str], event: str) -> None:
    ends = time.monotonic() + PATIENCE
    while event not in lines.readline():
        assert time.monotonic() < ends


def rotate(folder: Path) -> None:
    program = shutil.which("logrotate", path="/usr/sbin:/usr/bin")
    if program is None:
        log = folder / "logs/scheduler.log"
        log.rename(f"{log}.1")
        return
    rules = folder / "logrotate.conf"
    text = (ROOT / "contrib/logrotate.conf").read_text()
    rules.write_text(text.replace("/srv/curtsy", str(folder)))
    rules.chmod(0o600)
    state = str(folder / "state")
    subprocess.run([program, "--force", "--state", state, str(rules)], check=True, timeout=PATIENCE)


def test_shellcheck_has_nothing_to_say() -> None:
    program = shutil.which("shellcheck")
    if program is None:
        pytest.skip("NOT TESTED: shellcheck is not installed")
    subprocess.run([program, str(ROOT / SCRIPT)], check=True, timeout=PATIENCE)
