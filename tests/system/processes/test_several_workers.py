"""`curtsy worker --processes N`: one command, several workers, each of them in its own process."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cli.running import environment
from curtsy.store import Store
from processes.conftest import HOSTS, Crew, Jobs, lives
from support.engine import until
from support.patience import PATIENCE
from support.postgres import Postgres
from support.processes import Fleet
from support.sql import run, text

_ROWS = text("SELECT count(*) FROM workers")
HIDE = """
from curtsy.scrapers import scraper

@scraper
def mine(page):
    return {}
"""


def _doctor(database_url: str) -> dict[str, list[dict[str, str]]]:
    told = subprocess.run(
        [sys.executable, "-m", "curtsy", "doctor", "--json"],
        env=environment(database_url=database_url), capture_output=True,
    )  # fmt: skip
    found: dict[str, list[dict[str, str]]] = json.loads(told.stdout)
    return found


async def test_all_processes_fetch_and_share_the_slots(
    fleet: Fleet, jobs: Jobs, database_url: str
) -> None:
    crew = Crew(fleet.worker())
    await crew.has(2)
    await jobs.submit(200)
    await jobs.are_done(200)
    assert await jobs.workers() == set(crew.workers())
    assert [line["slots"] for line in crew.command.logged("worker_started")] == [2, 2]
    places = {f"{number} of 2 under {crew.command.pid}" for number in (1, 2)}
    found = {worker["process"]: worker["pid"] for worker in _doctor(database_url)["workers"]}
    assert found.keys() == places
    assert set(found.values()) == set(crew.pids())
    own = [line for line in crew.command.lines() if line.get("room") == "worker"]
    assert own
    assert {line["process"] for line in own} == places, "each line names its process"
    assert await fleet.stop() == [0]


async def test_a_killed_process_is_started_again_and_no_page_is_lost(
    fleet: Fleet, jobs: Jobs
) -> None:
    crew = Crew(fleet.worker())
    await crew.has(2)
    await jobs.submit(200)
    await until(jobs.done, PATIENCE, lambda: "nothing is done")
    os.kill(crew.pids()[0], signal.SIGKILL)
    await crew.has(3)
    await jobs.are_done(200)
    [ended] = crew.command.logged("worker_process_ended")
    assert ended["reason"] == "SIGKILL"
    [first, _, again] = crew.command.logged("worker_process_started")
    assert first["process"] == again["process"] == ended["process"]
    assert await fleet.stop() == [0]
    assert fleet.crashes() == []


async def test_doctor_says_how_many_are_missing(fleet: Fleet, database_url: str) -> None:
    crew = Crew(fleet.worker())
    await crew.has(2)
    assert _doctor(database_url)["notices"] == []
    crew.command.pause()  # it starts nothing now
    os.kill(crew.pids()[1], signal.SIGKILL)

    async def is_missed() -> bool:
        return len(_doctor(database_url)["notices"]) == 1

    await until(is_missed, PATIENCE, lambda: "nobody misses it")
    [notice] = _doctor(database_url)["notices"]
    assert str(notice).startswith(f"Of the 2 workers under process {crew.command.pid} on ")
    assert ", 1 is not up: " in str(notice)
    crew.command.resume()
    await crew.has(3)
    assert _doctor(database_url)["notices"] == []


async def test_a_signal_lets_open_requests_end_then_the_processes_then_the_command(
    fleet: Fleet, jobs: Jobs, store: Store
) -> None:
    crew = Crew(fleet.worker())
    await crew.has(2)
    await jobs.submit(HOSTS, slow_ms=2_000)
    await jobs.are_open(2)
    crew.command.send(signal.SIGTERM)
    await crew.has(2, "worker_drains")
    for pid in filter(lives, crew.pids()):
        os.kill(pid, signal.SIGTERM)  # as systemd does, which signals every process of a unit
    assert await crew.exit_code() == 0
    assert not any(map(lives, crew.pids()))
    events = [line["event"] for line in crew.command.lines()]
    assert events.count("worker_stopped") == 2
    assert "stopped_at_once" not in events
    assert "worker_process_ended" not in events
    was_open = sum(line["in_flight"] for line in crew.command.logged("worker_drains"))
    recorded = sum(line["recorded"] for line in crew.command.logged("worker_stopped"))
    assert recorded == await jobs.done() >= was_open > 0, "what was open is stored"
    assert await store.read(lambda c: run(c, _ROWS).scalar()) == 0


async def test_a_second_signal_ends_all_at_once(fleet: Fleet, jobs: Jobs) -> None:
    crew = Crew(fleet.worker())
    await crew.has(2)
    await jobs.submit(HOSTS, slow_ms=9_000)
    await jobs.are_open(2)
    crew.command.send(signal.SIGINT)
    await crew.has(2, "worker_drains")
    crew.command.send(signal.SIGTERM)
    assert await crew.exit_code() == 128 + signal.SIGTERM
    await crew.has_ended()
    assert crew.command.logged("worker_stopped") == []


async def test_the_processes_end_when_their_command_is_killed(
    fleet: Fleet, jobs: Jobs, store: Store
) -> None:
    """They drain: nobody has to wait for their leases, as one would after their death."""
    crew = Crew(fleet.worker())
    await crew.has(2)
    await jobs.submit(16)
    await until(jobs.done, PATIENCE, lambda: "nothing is done")
    crew.command.kill()
    await crew.has_ended()
    assert len(crew.command.logged("worker_stopped")) == 2
    assert await store.read(lambda c: run(c, _ROWS).scalar()) == 0


async def test_without_their_lifeline_they_would_go_on_alone(fleet: Fleet, jobs: Jobs) -> None:
    crew = Crew(fleet.worker(without="lifeline"))
    try:
        await crew.has(2)
        crew.command.kill()
        await jobs.submit(16)
        await jobs.are_done(16)
        assert all(map(lives, crew.pids()))
    finally:
        crew.kill_the_rest()


async def test_a_process_that_ends_again_and_again_is_reported_and_left_alone_for_a_while(
    fleet: Fleet, tmp_path: Path
) -> None:
    scrapers = tmp_path / "mine.py"
    scrapers.write_text(HIDE)
    crew = Crew(fleet.worker(scrapers=scrapers))
    await crew.has(2)
    scrapers.write_text("a scraper it is not")
    os.kill(crew.pids()[0], signal.SIGKILL)
    await crew.has(1, "worker_process_keeps_ending")
    [first, *_] = crew.command.logged("worker_process_keeps_ending")
    place = f"1 of 2 under {crew.command.pid}"
    assert first["meaning"].startswith(f"Worker process {place} has ended 3 times soon after its")
    assert "curtsy: SCRAPERS: " in crew.command.tail(), "and itself it said why"
    pauses = [line["starts_again_in_seconds"]
              for line in crew.command.logged("worker_process_ended")]  # fmt: skip
    assert pauses[:3] == [0.5, 1.0, 2.0]
    scrapers.write_text(HIDE)
    await crew.has(3)
    assert await fleet.stop() == [0]


def test_a_process_that_finds_no_database_is_started_until_it_does(
    tmp_path: Path, postgres: Postgres, postgres_url: str
) -> None:
    """In the main thread: the server ends with the thread that started it."""
    with Fleet(tmp_path, postgres_url, worker_processes=2) as fleet:
        crew = Crew(fleet.worker())
        asyncio.run(crew.has(2))
        postgres.stop(signal.SIGQUIT)
        try:
            os.kill(crew.pids()[0], signal.SIGKILL)
            asyncio.run(crew.has(2, "worker_process_ended"))
        finally:
            postgres.start()
        asyncio.run(crew.has(3))
        [killed, away, *_] = crew.command.logged("worker_process_ended")
        assert (killed["reason"], away["reason"]) == ("SIGKILL", "exit code 1")
        assert asyncio.run(fleet.stop()) == [0]


@pytest.mark.parametrize("command", ["worker", "up"])
def test_what_is_wrong_at_the_start_is_said_once(tmp_path: Path, command: str) -> None:
    told = subprocess.run(
        [sys.executable, "-m", "curtsy", command, "--processes", "3"], cwd=tmp_path,
        env=environment(database_url="postgresql://127.0.0.1:9/nobody", api_port=0),
        capture_output=True, text=True, timeout=PATIENCE,
    )  # fmt: skip
    assert told.returncode == 1
    assert told.stderr.count("curtsy: ") == 1
    assert "worker_process_started" not in told.stderr


def test_a_place_is_for_processes_that_have_a_supervisor(tmp_path: Path) -> None:
    for place, code in {"2 of 3 under 1": 1, "somewhere": 2}.items():
        told = subprocess.run(
            [sys.executable, "-m", "curtsy", "worker", "--place", place], cwd=tmp_path,
            env=environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=PATIENCE,
        )  # fmt: skip
        assert told.returncode == code
        assert "curtsy: --place is " in told.stderr
