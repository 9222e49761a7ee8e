import json
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from urllib.request import urlopen

from cli.conftest import Curtsy, Site
from cli.running import ask, ask_once, completed, environment, running, wait_for
from support.patience import PATIENCE
from support.postgres import Postgres

SOON = 20.0
"""Seconds: on any machine sooner than after a wait for somebody who does not come."""


def _doctor(folder: Path, **settings: str) -> dict[str, list[dict[str, object]]]:
    out = subprocess.run(
        [sys.executable, "-m", "curtsy", "doctor", "--json"],
        cwd=folder, env=environment(**settings), capture_output=True, check=True,
    )  # fmt: skip
    found: dict[str, list[dict[str, object]]] = json.loads(out.stdout)
    return found


def test_two_programs_started_at_once_share_one_new_file(tmp_path: Path, site: Site) -> None:
    """Both make the file, or find it made; then they work side by side."""
    scrape = ("scrape", f"{site.url}/slow", "--format", "json")
    with running(tmp_path, "up") as up, running(tmp_path, *scrape) as scraping:
        jobs = [
            ask("POST", f"{up.url}/jobs", {"url": f"{site.url}/{n}"}).json["id"] for n in range(4)
        ]
        assert site.arrived.wait(PATIENCE)
        wait_for(
            lambda: ask("GET", f"{up.url}/health").json["workers"] == 2,
            lambda: "the second worker is not seen",
        )
        found = _doctor(tmp_path)
        assert [worker["alive"] for worker in found["workers"]] == [True, True]
        assert [source["name"] for source in found["sources"]] == [site.url.removeprefix("http://")]
        site.let_go.set()
        for job in jobs:
            assert completed(up.url, job)["content"] == "hello"
        assert scraping.ended() == 4, "five letters are no article, whoever fetched them"
        assert up.stop() == 0


def test_a_scrape_whose_job_is_taken_away_says_so(
    tmp_path: Path, site: Site, curtsy: Curtsy
) -> None:
    """It must not count what it has as all there was."""
    with running(tmp_path, "scrape", f"{site.url}/slow", robots="ignore") as scraping:
        assert site.arrived.wait(PATIENCE)
        [job] = curtsy("jobs", "--json").json["jobs"]
        assert curtsy("cancel", job["job_id"], "--purge").exit_code == 0
        assert scraping.ended() == 1
    assert "curtsy: There is no job" in scraping.log.read_text()


def test_a_job_taken_by_one_process_is_fetched_by_another(
    tmp_path: Path, site: Site, postgres_url: str
) -> None:
    with (
        running(tmp_path, "api", database_url=postgres_url) as api,
        running(tmp_path, "worker", database_url=postgres_url) as worker,
        running(tmp_path, "scheduler", database_url=postgres_url) as scheduler,
    ):
        worker.said("worker_started")
        scheduler.said("scheduler_started")
        job = ask("POST", f"{api.url}/jobs/", {"url": f"{site.url}/page"}).json["id"]
        assert completed(api.url, job)["content"] == "hello"
        assert [api.stop(), worker.stop(), scheduler.stop()] == [0, 0, 0]


def test_the_first_signal_lets_open_requests_end(tmp_path: Path, site: Site) -> None:
    with running(tmp_path, "up") as up:
        job = ask("POST", f"{up.url}/jobs", {"url": f"{site.url}/slow"}).json["id"]
        assert site.arrived.wait(PATIENCE)
        up.signal(signal.SIGINT)
        up.said("worker_drains")
        site.let_go.set()
        assert up.ended() == 0
    with running(tmp_path, "api") as api:
        shown = ask("GET", f"{api.url}/jobs/{job}").json
        assert (shown["status"], shown["content"]) == ("completed", "hello")


def test_the_second_signal_ends_the_process_at_once(tmp_path: Path, site: Site) -> None:
    with running(tmp_path, "up") as up:
        ask("POST", f"{up.url}/jobs", {"url": f"{site.url}/slow"})
        assert site.arrived.wait(PATIENCE)
        up.signal(signal.SIGTERM)
        up.said("worker_drains")
        asked_at = time.monotonic()
        up.signal(signal.SIGTERM)
        assert up.ended() == 128 + signal.SIGTERM
        assert time.monotonic() - asked_at < SOON


def test_a_database_that_is_stopped_is_answered_for_and_found_again(
    tmp_path: Path, postgres: Postgres, postgres_url: str, curtsy: Curtsy
) -> None:
    with running(tmp_path, "api", database_url=postgres_url) as api:
        job = ask("POST", f"{api.url}/jobs", {"url": "http://example.com/"}).json["id"]
        postgres.stop(signal.SIGQUIT)
        try:
            for method, path in [("GET", "/jobs"), ("GET", f"/jobs/{job}"), ("POST", "/jobs"),
                                 ("DELETE", f"/jobs/{job}"), ("POST", f"/jobs/{job}/retry"),
                                 ("GET", "/health")]:  # fmt: skip
                body = {"url": "http://example.com/"} if path == "/jobs" else None
                away = ask_once(method, api.url + path, body if method == "POST" else None)
                assert away.status == 503, away
                assert away.seconds < SOON
            told = curtsy("doctor", "--json", url=api.url)
            assert (told.exit_code, told.json["store"]) == (1, "away")
            assert "its database does not" in told.err
        finally:
            postgres.start()
        made = wait_for(
            lambda: (a := ask_once("POST", f"{api.url}/jobs", {"url": "http://example.com/"})).status
            == 201 and a,
            lambda: "the API has not recovered",
        )  # fmt: skip
        assert made.json["status"] == "queued"
        assert ask("GET", f"{api.url}/jobs/{job}").json["status"] == "queued"
        assert api.stop() == 0


def test_a_connection_that_stays_open_does_not_hold_up_the_end(tmp_path: Path) -> None:
    with running(tmp_path, "up") as up:
        port = int(up.url.rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port)) as idle:
            idle.sendall(b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            assert idle.recv(4096).startswith(b"HTTP/1.1 200")
            assert up.stop() == 0


def test_a_stop_ends_open_streams_in_order(tmp_path: Path) -> None:
    """A reader has a whole answer and comes back where it was; nothing has to be cut off."""
    with running(tmp_path, "up") as up:
        job = ask("POST", f"{up.url}/jobs", {"url": "http://a.invalid/"}).json["id"]
        ask("POST", f"{up.url}/jobs/{job}/pause")
        streams = [urlopen(f"{up.url}{path}") for path in ("/events", f"/jobs/{job}/logs")]
        for stream, heard in zip(streams, (b"id: ", b"Paused"), strict=True):
            assert any(heard in line for line in stream)
        up.signal(signal.SIGTERM)
        for stream in streams:
            stream.read()  # raises where it is not whole
        assert up.ended() == 0
    assert "Traceback" not in up.log.read_text()
