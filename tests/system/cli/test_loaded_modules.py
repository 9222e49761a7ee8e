"""What commands and processes at work do not load."""

import subprocess
import sys
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from cli.running import environment, running
from curtsy.demo.news import article_paths
from curtsy.demo.process import PracticeProcess
from support.loaded_modules import loaded_by

MIGRATIONS = {"alembic", "sqlalchemy"}
PARSERS = {"htmldate", "lxml", "trafilatura"}
"""They are loaded where pages are read, in children."""
SCREEN = {"click", "pygments", "rich.console"}
FRAMEWORK = {"fastapi", "starlette", "uvicorn"}
LOCAL = MIGRATIONS | PARSERS | SCREEN | {"structlog", "uvicorn", "websockets"}


@dataclass(frozen=True)
class Case:
    arguments: tuple[str, ...]
    not_loaded: set[str]
    until: bytes | None = None


CASES = {
    "jobs of an API": Case(
        ("jobs", "--url", "URL"),
        MIGRATIONS | PARSERS | SCREEN | FRAMEWORK
        | {"curtsy.config", "curtsy.store", "pydantic_settings", "structlog", "websockets"},
    ),
    "jobs": Case(("jobs",), LOCAL),
    "scrape": Case(("scrape", "--quiet", "PAGE"), LOCAL),
    "worker": Case(("worker",), MIGRATIONS | PARSERS | FRAMEWORK | {"httpx", "websockets"},
                   b"worker_started"),
    "scheduler": Case(("scheduler",), MIGRATIONS | PARSERS | FRAMEWORK | {"httpx", "websockets"},
                      b"scheduler_started"),
    "api": Case(("api",), MIGRATIONS | PARSERS | {"httpx", "curtsy.cli.commands.jobs"},
                b"api_started"),
    "up": Case(("up",), MIGRATIONS | PARSERS | {"httpx", "curtsy.cli.commands.jobs"},
               b"api_started"),
}  # fmt: skip


@dataclass(frozen=True)
class Places:
    folder: Path
    names: dict[str, str]

    def loaded(self, case: Case, *, also: Collection[str] = ()) -> set[str]:
        given = [self.names.get(one, one) for one in case.arguments]
        settings = environment(api_port=0, log_format="json", allow_addresses="127.0.0.0/8",
                               min_delay_seconds=0.02)  # fmt: skip
        return loaded_by(*given, folder=self.folder, environment=settings, until=case.until,
                         also=also)  # fmt: skip


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory, pages: PracticeProcess) -> Iterator[Places]:
    """An API, another folder with a database, and a page."""
    folder = tmp_path_factory.mktemp("loaded")
    upgrade = [sys.executable, "-m", "curtsy", "db", "upgrade"]
    subprocess.run(upgrade, cwd=folder, env=environment(), check=True, capture_output=True)
    with running(tmp_path_factory.mktemp("service"), "up") as up:
        yield Places(folder, {"URL": up.url, "PAGE": pages.url(0, article_paths()[0])})


@pytest.mark.parametrize("name", CASES)
def test_it_loads_only_what_runs(places: Places, name: str) -> None:
    assert places.loaded(CASES[name]) & CASES[name].not_loaded == set()


@pytest.mark.parametrize("name", CASES)
def test_each_of_them_would_be_noticed(places: Places, name: str) -> None:
    names = CASES[name].not_loaded
    assert places.loaded(CASES[name], also=names) & names == names


def test_a_scrape_on_a_file_that_is_not_there_yet_loads_no_migrations(
    tmp_path: Path, pages: PracticeProcess
) -> None:
    settings = environment(allow_addresses="127.0.0.0/8", min_delay_seconds=0.02)
    page = pages.url(0, article_paths()[0])
    loaded = loaded_by("scrape", "--quiet", page, folder=tmp_path, environment=settings)
    assert loaded & MIGRATIONS == set()
