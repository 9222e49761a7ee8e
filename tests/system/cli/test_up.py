"""`curtsy up` as a person meets it: one screen, one at a time, in the background, and its end."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cli.conftest import Curtsy
from cli.running import ask, environment, running, wait_for


def test_it_says_where_it_is_and_what_it_kept(tmp_path: Path) -> None:
    with running(tmp_path, "up") as up:
        url = up.url
        screen = up.log.read_text()
        assert f"API docs   {url}/docs" in screen
        assert f"{url}/jobs/submit" in screen
        assert "Database   curtsy.db" in screen
        ask("POST", f"{url}/jobs", {"url": "http://127.0.0.1:99/"})
        assert up.stop() == 0
    assert "Stopped: " in up.log.read_text()
    assert "1 more wait for the next start" in up.log.read_text()


def test_a_second_one_on_the_same_file_is_refused(curtsy: Curtsy, tmp_path: Path) -> None:
    with running(tmp_path, "up") as up:
        assert up.url
        sentence = curtsy("up", api_port=0).sentence()
        assert f"(process {up.process.pid})" in sentence
        assert "curtsy stop" in sentence
        assert up.stop() == 0
    with running(tmp_path, "up") as again:
        assert again.url


def test_one_that_was_killed_is_in_nobodys_way(tmp_path: Path) -> None:
    with running(tmp_path, "up") as up:
        assert up.url
        up.process.kill()
        up.process.wait()
    with running(tmp_path, "up") as again:
        assert again.url


def test_it_goes_to_the_background_and_is_stopped_from_elsewhere(
    curtsy: Curtsy, tmp_path: Path
) -> None:
    detach = [sys.executable, "-m", "curtsy", "up", "--detach"]
    told = subprocess.run(detach, cwd=tmp_path, env=environment(api_port=0, lease_seconds=3),
                          capture_output=True, text=True, timeout=60)  # fmt: skip
    assert told.returncode == 0, told
    assert "Run `curtsy stop` to stop it; its log is curtsy.log." in told.stdout
    [line] = [line for line in told.stdout.splitlines() if "API   " in line]
    url = line.split()[-1]
    try:
        job = ask("POST", f"{url}/jobs", {"url": "http://a.invalid/nobody"}).json["id"]
        assert ask("GET", f"{url}/jobs/{job}").status == 200
        again = curtsy("up", "--detach", api_port=0).sentence()
        assert "up already" in again
    finally:
        stopped = curtsy("stop")
    assert stopped.out.startswith("Stopped (process ")
    number = int(stopped.out.split()[-1].strip(").\n"))
    wait_for(lambda: not _lives(number), lambda: "it still lives")
    assert "No curtsy is up" in curtsy("stop").sentence()


def test_what_keeps_it_from_coming_up_is_told(curtsy: Curtsy, tmp_path: Path) -> None:
    with running(tmp_path, "up") as up:
        port = up.url.rpartition(":")[2]
        elsewhere = {"database_url": "sqlite:///other.db", "api_port": port}
        assert "cannot listen on" in curtsy("up", "--detach", **elsewhere).sentence()
        assert "cannot listen on" in curtsy("up", **elsewhere).sentence()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_told(curtsy: Curtsy, tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    assert "cannot be written" in curtsy("up", api_port=0).sentence()


def _lives(number: int) -> bool:
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] != "Z"


def test_what_it_says_to_try_can_be_pasted_where_its_folder_is_not_on_the_path(
    tmp_path: Path,
) -> None:
    program = Path(sys.executable).with_name("curtsy")
    known = environment(api_port=0, lease_seconds=3) | {"PATH": "/usr/bin:/bin"}
    told = subprocess.run([program, "up", "--detach"], cwd=tmp_path, env=known,
                          capture_output=True, text=True, timeout=60)  # fmt: skip
    try:
        [line] = [line.strip() for line in told.stdout.splitlines() if line.endswith(" jobs")]
        pasted = subprocess.run(line.split(), cwd=tmp_path, env=known, capture_output=True)
        assert pasted.returncode == 0, pasted
    finally:
        subprocess.run([program, "stop"], cwd=tmp_path, env=known, capture_output=True)
