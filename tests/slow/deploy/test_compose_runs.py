"""`docker-compose up --scale consumer=5` without an engine: the command of each service with its
environment, its user, no capabilities and a read-only root (`support/contained.py` says what is
not as in a container). PostgreSQL is the one of the other tests in place of the service `db`.
"""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from cli.running import ask, wait_for
from curtsy.demo.process import PracticeProcess
from support.compose import compose_file, example_variables, image_environment
from support.contained import USER, Container, can_contain
from support.postgres import Postgres, free_port

pytestmark = pytest.mark.skipif(
    not can_contain(), reason="NOT TESTED: only root can make mounts and become another user"
)
CONSUMERS = 5
PAGES = 12


class Services:
    """The services of the file, each started as a process of its own."""

    def __init__(self, folder: Path, server: Postgres) -> None:
        self.port = free_port()
        self._folder, self._server = folder, server
        self.running: dict[str, subprocess.Popen[bytes]] = {}
        given = example_variables() | {"CURTSY_ALLOW_ADDRESSES": "127.0.0.0/8",
                                       "CURTSY_MIN_DELAY_SECONDS": "0.05"}  # fmt: skip
        self._env_file = given
        self._services = compose_file(given)["services"]

    def container(self, service: str, data: Path | None = None) -> Container:
        """Names and ports of the network of containers are replaced by those of this machine."""
        one = self._services[service]
        environment = image_environment() | self._env_file | one["environment"]
        url = environment["CURTSY_DATABASE_URL"]
        environment["CURTSY_DATABASE_URL"] = url.replace("@db/", f"@127.0.0.1:{self._server.port}/")
        if "ports" in one:
            environment |= {"CURTSY_API_PORT": str(self.port), "CURTSY_API_HOST": "127.0.0.1"}
        return Container(environment, data)

    def start(self, service: str, number: int = 1, data: Path | None = None) -> None:
        name = f"{service}_{number}"
        container = self.container(service, data)
        command = self._services[service]["command"]
        self.running[name] = container.start(*command, log=self.log(name))

    def log(self, name: str) -> Path:
        return self._folder / f"{name}.log"

    def has_said(self, name: str, event: str) -> Callable[[], bool]:
        def found() -> bool:
            assert self.running[name].poll() is None, self.log(name).read_text()
            return event in self.log(name).read_text()

        return found

    def stop(self) -> dict[str, int]:
        """As `docker-compose stop`: SIGTERM to all, and no more than the time of the file."""
        ends = time.monotonic() + 90
        for process in self.running.values():
            process.send_signal(signal.SIGTERM)
        return {name: process.wait(max(1, ends - time.monotonic()))
                for name, process in self.running.items()}  # fmt: skip


@contextmanager
def started(folder: Path, server: Postgres) -> Iterator[Services]:
    services = Services(folder, server)
    try:
        yield services
    finally:
        for process in services.running.values():
            if process.poll() is None:
                process.kill()
            process.wait()


@pytest.fixture
def server(postgres: Postgres) -> Iterator[Postgres]:
    """Has the role and the database that the image of PostgreSQL makes."""
    postgres.run("CREATE ROLE curtsy LOGIN")
    postgres.run("CREATE DATABASE curtsy OWNER curtsy")
    yield postgres
    postgres.run("DROP DATABASE curtsy WITH (FORCE)")
    postgres.run("DROP ROLE curtsy")


@pytest.fixture(scope="module")
def site() -> Iterator[PracticeProcess]:
    with PracticeProcess(hosts=4) as practice:
        yield practice


def finish(url: str, site: PracticeProcess) -> Any:
    """Submits articles as the documents type it, and returns the results once all are there."""
    articles = [{"url": site.url(n % 4, f"/page/{n}"), "priority": 1} for n in range(PAGES)]
    job = ask("POST", f"{url}/jobs/submit", {"articles": articles}).json["job_id"]

    def completed() -> Any:
        shown = ask("GET", f"{url}/jobs/{job}/status").json
        return shown if shown["pending"] == 0 else None

    wait_for(completed, lambda: f"{job} has not ended")
    return ask("GET", f"{url}/jobs/{job}/results").json["results"]


def test_five_consumers_do_the_work_of_the_file_and_end_in_time(
    tmp_path: Path, server: Postgres, site: PracticeProcess
) -> None:
    with started(tmp_path, server) as services:
        upgraded = services.container("upgrade").run("db", "upgrade")
        assert upgraded.returncode == 0, upgraded
        services.start("api")
        services.start("scheduler")
        for number in range(1, CONSUMERS + 1):
            services.start("consumer", number)
        said = lambda: services.log("api_1").read_text()  # noqa: E731
        wait_for(services.has_said("api_1", "api_started"), said)
        url = f"http://127.0.0.1:{services.port}"

        def all_are_up() -> bool:
            return bool(ask("GET", f"{url}/health").json["workers"] == CONSUMERS)

        wait_for(all_are_up, lambda: str(ask("GET", f"{url}/health")))
        check = services.container("api").run("health", "--ready")
        assert check.returncode == 0, check

        results = finish(url, site)
        assert len(results) == PAGES

        doctor = services.container("consumer").run("doctor").stdout
        assert f"Workers ({CONSUMERS})" in doctor
        assert "A scraper's process CAN" not in doctor, "its own sandbox holds in the container"
        assert "This is root" not in doctor
        assert set(services.stop().values()) == {0}
        check = services.container("api").run("health", "--ready")
        assert check.returncode != 0, "nothing serves any more"


def test_one_container_works_on_a_sqlite_file_in_its_volume(
    tmp_path: Path, server: Postgres, site: PracticeProcess
) -> None:
    volume = tmp_path / "volume"
    volume.mkdir(mode=0o700)
    with started(tmp_path, server) as services:
        refused = services.container("single", volume).run("up")
        assert refused.returncode == 1
        assert f"UID {USER}" in refused.stderr
        assert "/data" in refused.stderr, refused.stderr
        volume.chmod(0o755)
        refused = services.container("single", volume).run("up")
        assert f"/data is not writable for UID {USER}" in refused.stderr
        assert f"`chown {USER}:{USER} /data`" in refused.stderr

        volume.chmod(0o700)
        os.chown(volume, USER, USER)  # as the folder of the image gives its owner to the volume
        services.start("single", data=volume)
        said = lambda: services.log("single_1").read_text()  # noqa: E731
        wait_for(services.has_said("single_1", "api_started"), said)
        results = finish(f"http://127.0.0.1:{services.port}", site)
        assert len(results) == PAGES
        check = services.container("single", volume).run("health", "--ready")
        assert check.returncode == 0, check
        assert services.stop() == {"single_1": 0}
        assert (volume / "curtsy.db").stat().st_uid == USER


def test_without_a_volume_a_container_says_that_it_cannot_write(
    tmp_path: Path, server: Postgres
) -> None:
    refused = Services(tmp_path, server).container("single").run("up")
    assert refused.returncode == 1
    assert "/data is not writable: its file system is mounted read-only" in refused.stderr
