"""Every command and option of the operations document, as its users type it (`curtsy` in place of
its module), beside a service that scrapes the document's three sources."""

import re
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from cli.conftest import Curtsy, Told
from cli.running import Running, ask, running, wait_for
from cli.test_declared_files import EXAMPLES, at
from curtsy.demo.process import PracticeProcess

SOURCES = ("us_state_dept", "uk_foreign_office", "canada_travel")
TYPED = {
    "schedule": "us_state_dept",
    "schedule --source us_state_dept": "us_state_dept",
    "schedule --source uk_foreign_office --country france": "uk_foreign_office",
    "schedule --country france": "us_state_dept",
    "jobs": "us_state_dept",
    "jobs --limit 50": "us_state_dept",
    "jobs --status failure": "canada_travel",
    "jobs --source us_state_dept": "us_state_dept",
    "metrics": "Pages per minute",
    "metrics --hours 24": "The last 24 hours",
    "metrics --hours 2": "The last 2 hours",
    "health": "ok",
    "dead-letters": "gone",
    "dead-letters --limit 20": "gone",
    "rate-limits": "canada_travel",
    "rate-limits --source us_state_dept": "60",
    "process-dlq": "retried",
    "generate-report": "Success rate",
    "generate-report --hours 6": "Success rate",
    "cleanup --days 30": "Deleted",
}
"""Each command, with a word of its answer."""
STATES = ("pending", "started", "success", "failure", "retry", "dead_letter")


@dataclass
class Service:
    folder: Path
    up: Running


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service with the sources of the document; one run of each has ended, the last in vain."""
    folder = tmp_path_factory.mktemp("operations")
    with PracticeProcess(hosts=3) as pages:
        for file in (EXAMPLES / "travel").iterdir():
            (folder / file.name).write_text(at(pages, file.read_text()))
        sites = folder / "sites.toml"
        gone = pages.url(2, "/status/404/1")
        text = re.sub(r'search_url = "[^"]*/advisories/ca/"', f'search_url = "{gone}"',
                      sites.read_text())  # fmt: skip
        sites.write_text(text)
        with running(folder, "up", sync_timeout=60) as up:
            for name in SOURCES:
                asked = {"site_name": name, "results_wanted": 15}
                ended = ask("POST", f"{up.url}/jobs/scrape?mode=sync", asked).json["data"]
                assert ended["status"] == ("failed" if name == SOURCES[2] else "succeeded"), ended
            yield Service(folder, up)
            assert up.stop() == 0


@pytest.fixture
def typed(
    service: Service, curtsy: Curtsy, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], Told]:
    """Runs a command in the folder of the service, once the jobs before have ended."""
    monkeypatch.chdir(service.folder)

    def all_ended() -> bool:
        return ask("GET", f"{service.up.url}/jobs?status_filter=queued").json["total"] == 0

    wait_for(all_ended, lambda: "the jobs of other commands go on")
    return lambda line: curtsy(*shlex.split(line), allow_addresses="127.0.0.0/8")


@pytest.mark.parametrize("line", TYPED)
def test_it_works_as_it_is_typed(typed: Callable[[str], Told], line: str) -> None:
    told = typed(line)
    assert told.exit_code == 0, told
    assert TYPED[line] in told.out, told


@pytest.mark.parametrize("state", STATES)
def test_jobs_are_listed_by_each_state(typed: Callable[[str], Told], state: str) -> None:
    assert typed(f"jobs --status {state}").exit_code == 0
