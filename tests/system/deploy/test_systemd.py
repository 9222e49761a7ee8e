"""The units of contrib/systemd: what they say, what systemd says of them, and whether a worker does
its work and stays confined with the system calls that they allow."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from curtsy.cli.commands.processes import STOP_SLACK_SECONDS
from curtsy.config import Settings
from curtsy.demo.process import PracticeProcess
from support.contained import PROGRAM, USER, Container, can_contain
from support.patience import PATIENCE

UNITS = Path(__file__).parents[3] / "contrib/systemd"
UNIT = (UNITS / "curtsy@.service").read_text()
NUMBERS = Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h")
ANALYZE = shutil.which("systemd-analyze")
SYSTEMCTL = shutil.which("systemctl")
GUIDE = Path(__file__).parents[3] / "docs/how-to/deploy.md"
THRESHOLD = 25

with_systemd = pytest.mark.skipif(
    ANALYZE is None, reason="NOT TESTED: systemd-analyze is not installed"
)
with_namespaces = pytest.mark.skipif(
    not can_contain(), reason="NOT TESTED: only root can make mounts and become another user"
)


def values(name: str) -> list[str]:
    return re.findall(rf"^{name}=(.*)$", UNIT, re.MULTILINE)


def analyze(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(ANALYZE), *arguments], capture_output=True, text=True,
                          check=False, timeout=PATIENCE)  # fmt: skip


def test_a_stop_waits_for_open_requests() -> None:
    defaults = Settings.model_fields
    longest = defaults["scrape_timeout"].default + defaults["extract_seconds"].default
    [seconds] = values("TimeoutStopSec")
    assert int(seconds.removesuffix("s")) > longest + STOP_SLACK_SECONDS
    assert values("KillMode") == ["mixed"], "children do not get the signal before the worker"


def test_every_part_can_be_started_and_all_belong_to_one_target() -> None:
    assert values("ExecStart") == ["/opt/curtsy/.venv/bin/curtsy %i"]
    assert values("PartOf") == values("WantedBy") == ["curtsy.target"]
    assert values("WorkingDirectory") == [f"/var/lib/{values('StateDirectory')[0]}"]


def test_a_database_that_is_away_for_long_leaves_no_part_dead() -> None:
    """With a limit of starts systemd gives up for good, and nobody starts the part again."""
    assert values("Restart") == ["always"]
    assert values("StartLimitIntervalSec") == ["0"]


@pytest.mark.skipif(SYSTEMCTL is None, reason="NOT TESTED: systemctl is not installed")
def test_what_the_guide_enables_starts_with_the_machine(tmp_path: Path) -> None:
    units = tmp_path / "etc/systemd/system"
    shutil.copytree(UNITS, units)
    lines = re.findall(r"^systemctl (enable [^#\n]+)", GUIDE.read_text(), re.MULTILINE)
    assert len(lines) == 3
    for line in lines:
        typed = [word for word in line.split() if word != "--now"]
        subprocess.run([str(SYSTEMCTL), f"--root={tmp_path}", *typed], check=True, timeout=PATIENCE)
    assert (units / "multi-user.target.wants/curtsy.target").is_symlink()
    parts = {path.name for path in (units / "curtsy.target.wants").iterdir()}
    assert parts == {f"curtsy@{part}.service" for part in ("up", "api", "worker", "scheduler")}


def test_a_worker_sees_its_own_processes() -> None:
    """With ProtectProc=invisible a worker could not tell which process hangs: see below."""
    assert values("ProtectProc") == ["default"]


@with_systemd
def test_systemd_finds_the_service_well_protected() -> None:
    said = analyze("security", "--offline=yes", f"--threshold={THRESHOLD}",
                   str(UNITS / "curtsy@.service"))  # fmt: skip
    assert said.returncode == 0, said.stdout + said.stderr


@with_systemd
def test_systemd_understands_every_line(tmp_path: Path) -> None:
    for file in UNITS.iterdir():
        text = file.read_text().replace("/opt/curtsy/.venv/bin/curtsy", str(PROGRAM))
        (tmp_path / file.name).write_text(text)
    (tmp_path / "curtsy@.service").rename(tmp_path / "curtsy@worker.service")
    for name in ("curtsy@worker.service", "curtsy.target"):
        said = analyze("verify", "--man=no", str(tmp_path / name))
        ours = [line for line in said.stderr.splitlines() if "curtsy" in line]
        assert (said.returncode, ours) == (0, [])


def allowed_calls() -> tuple[int, ...]:
    """The numbers of the calls of `SystemCallFilter=`, line after line as systemd reads them."""
    numbers = dict(re.findall(r"#define __NR_(\w+) (\d+)", NUMBERS.read_text()))
    allowed: set[str] = set()
    for line in values("SystemCallFilter"):
        calls = {call for one in line.removeprefix("~").split() for call in members(one)}
        allowed = allowed - calls if line.startswith("~") else allowed | calls
    return tuple(sorted(int(numbers[call]) for call in allowed if call in numbers))


def members(name: str) -> set[str]:
    if not name.startswith("@"):
        return {name}
    lines = analyze("syscall-filter", name).stdout.splitlines()[1:]
    found = [line.strip() for line in lines if line.strip() and not line.strip().startswith("#")]
    return {call for one in found for call in members(one)}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "state"
    made.mkdir(mode=0o700)
    shutil.chown(made, USER, USER)
    return made


@pytest.mark.skipif(not NUMBERS.exists(), reason="NOT TESTED: the numbers of calls are not here")
@with_systemd
@with_namespaces
def test_the_allowed_system_calls_suffice_and_leave_scrapers_confined(folder: Path) -> None:
    """systemd itself does not run here; its filter is made anew from its own lists."""
    calls = allowed_calls()
    assert len(calls) > 200
    settings = {"CURTSY_ALLOW_ADDRESSES": "127.0.0.0/8", "CURTSY_MIN_DELAY_SECONDS": "0.02"}
    inside = Container(settings, folder, calls=calls)
    assert inside.run("db", "upgrade").returncode == 0
    with PracticeProcess(hosts=1) as site:
        page = site.url(0, "/news/letters/a-map-sold-twice")
        scraped = inside.run("scrape", page, "--format", "markdown")
    assert scraped.stdout.startswith("# A Map Sold Twice\n"), scraped
    doctor = inside.run("doctor")
    assert "A scraper's process cannot use the network" in doctor.stdout, doctor
    assert "A scraper's process CAN" not in doctor.stdout


@with_namespaces
def test_a_scraper_that_hangs_is_killed_also_where_proc_hides_it(folder: Path) -> None:
    """So it is on machines that mount /proc with `hidepid`, and with ProtectProc=invisible."""
    program = """
import asyncio, os, signal, time
from curtsy.extract.confinement import make_undumpable
from curtsy.extract.fork_server_client import ForkServerClient, _parent_of

async def main():
    make_undumpable()
    server = ForkServerClient(memory_bytes=2**28, module="curtsy.extract.fork_server")
    child = await server.fork()
    while _parent_of(child.pid) is not None:
        await asyncio.sleep(0.01)  # until it has made itself unreadable
    os.kill(child.pid, signal.SIGSTOP)  # as one that does not come back to its channel
    server.kill_child(child)
    ends = time.monotonic() + 30
    while time.monotonic() < ends:
        try:
            os.kill(child.pid, 0)
        except ProcessLookupError:
            print("killed")
            break
        await asyncio.sleep(0.01)
    await server.close()

asyncio.run(main())
"""
    python = (str(PROGRAM.parent / "python"), "-c", program)
    ended = Container({}, folder, program=python, hides_processes=True).run()
    assert ended.stdout == "killed\n", ended
    assert Container({}, folder, hides_processes=True).run("db", "upgrade").returncode == 0
    doctor = Container({}, folder, hides_processes=True).run("doctor").stdout
    assert "cannot read the environment and memory of curtsy's processes" in doctor
