"""The practice site as a process: it starts, tells its port, logs and never outlives its parent."""

import os
import select
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from curtsy.demo import truth
from curtsy.demo.process import PracticeProcess, PracticeSiteFailed

STARTS_A_SITE = """
import sys
from pathlib import Path
from curtsy.demo.process import PracticeProcess
site = PracticeProcess(hosts=1, log_path=Path(sys.argv[1]))
site.start()
print(site.pid, flush=True)
input()
"""


def wait_for_the_end_of(pid: int) -> bool:
    """False when it still runs after five seconds."""
    try:
        watched = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([watched], [], [], 5)[0])
    finally:
        os.close(watched)


def test_a_process_serves_its_pages_and_keeps_their_log(tmp_path: Path):
    log = tmp_path / "access.jsonl"
    with PracticeProcess(hosts=2, log_path=log) as site:
        for path in ("/page/1", "/page/2", "/page/1"):
            with urllib.request.urlopen(site.url(1, path)) as reply:
                assert reply.status == 200
        pid = site.pid
    assert pid is not None
    assert wait_for_the_end_of(pid)
    assert site.log_path == log
    assert truth.counts(site.entries()) == {
        ("127.0.1.2", "/page/1"): 2,
        ("127.0.1.2", "/page/2"): 1,
    }
    assert [entry.status for entry in site.entries()] == [200, 200, 200]


async def test_a_process_can_be_used_without_blocking_the_loop(client):
    async with (
        PracticeProcess(hosts=2) as site,
        client.get(site.url(0, "/elsewhere/1/7")) as reply,
    ):
        assert str(reply.url) == site.url(1, "/page/7")
    assert len(site.entries()) == 2


def test_a_site_ends_when_its_parent_is_killed(tmp_path: Path):
    command = [sys.executable, "-c", STARTS_A_SITE, str(tmp_path / "access.jsonl")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        pid = int(parent.stdout.readline())
        assert pid != parent.pid
        parent.kill()
    assert wait_for_the_end_of(pid)


@pytest.mark.parametrize("name", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_in_good_order(name):
    command = [sys.executable, "-m", "curtsy.demo", "--hosts", "1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert b'"hosts": 1' in process.stdout.readline()
        process.send_signal(name)
        assert process.wait(5) == 0


def test_a_process_that_cannot_start_says_so(tmp_path: Path, capfd):
    with pytest.raises(PracticeSiteFailed, match="ended with status 1"):
        PracticeProcess(hosts=1, log_path=tmp_path / "no" / "such" / "folder").start()
    assert "No such file or directory" in capfd.readouterr().err
