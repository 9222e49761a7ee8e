"""A real Prometheus with the files of `curtsy examples monitoring` scrapes a busy service: each
query of the dashboard and each rule finds data."""

import json
import re
import socket
import subprocess
import threading
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from math import isnan
from pathlib import Path
from typing import Any

import pytest
import yaml

from cli.running import ask, ask_once, running, wait_for
from curtsy.demo.process import PracticeProcess
from support.patience import PATIENCE
from support.programs import prometheus, promtool

pytestmark = pytest.mark.skipif(
    prometheus() is None or promtool() is None,
    reason="LEFT OUT: there is no Prometheus; make test unpacks it as root",
)

EXAMPLES = Path(__file__).parents[3] / "src/curtsy/demo/examples/monitoring"
DASHBOARD = json.loads((EXAMPLES / "grafana-dashboard.json").read_text())
RULES = yaml.safe_load((EXAMPLES / "curtsy.rules.yml").read_text())["groups"][0]["rules"]
COMPARISON = re.compile(r"(==|<|>)(?= [\d.])")
SPAN = "10s"
"""In place of the spans of minutes and hours: the service runs for seconds."""


def queries() -> dict[str, str]:
    """The query of each panel, with the values of Grafana's variables."""
    return {
        f"{panel['title']} {target['refId']}": target["expr"]
        .replace("$__rate_interval", SPAN)
        .replace("$source", ".*")
        for panel in DASHBOARD["panels"]
        for target in panel.get("targets", ())
    }


def conditions() -> dict[str, str]:
    """The condition of each rule, as a value that is there whether or not it holds."""
    return {
        rule["alert"]: re.sub(r"\[\d+[mh]\]", f"[{SPAN}]", COMPARISON.sub(r"\1 bool", rule["expr"]))
        for rule in RULES
    }


@dataclass(frozen=True)
class Prometheus:
    url: str

    def values(self, query: str) -> list[float]:
        found = ask_once(
            "GET", f"{self.url}/api/v1/query?" + urllib.parse.urlencode({"query": query})
        )
        assert found.status == 200, (query, found.json)
        return [float(one["value"][1]) for one in found.json["data"]["result"]]

    def has_data(self, query: str) -> bool:
        """Some value is a number: without observations a quantile is not."""
        return not all(isnan(value) for value in self.values(query))


@contextmanager
def scraping(folder: Path, target: str) -> Iterator[Prometheus]:
    """A Prometheus with the files in the folder, which scrapes the target twice a second."""
    config = folder / "prometheus.yml"
    text = config.read_text().replace("127.0.0.1:8000", target).replace("15s", "500ms")
    config.write_text(text)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    program = prometheus()
    assert program is not None
    with (folder / "prometheus.log").open("wb") as log:
        process = subprocess.Popen(
            [program, f"--config.file={config}", f"--web.listen-address={address}",
             f"--storage.tsdb.path={folder / 'data'}"], stdout=log, stderr=log,
        )  # fmt: skip

    def ready() -> bool:
        assert process.poll() is None, (folder / "prometheus.log").read_text()
        with (
            suppress(OSError),
            urllib.request.urlopen(f"http://{address}/-/ready", timeout=PATIENCE),
        ):
            return True
        return False

    try:
        wait_for(ready, lambda: (folder / "prometheus.log").read_text())
        yield Prometheus(f"http://{address}")
    finally:
        process.kill()
        process.wait()


@contextmanager
def busy(api: str, site: PracticeProcess) -> Iterator[None]:
    """Submits pages that succeed, fail, wait for another try and are given up, until the end."""
    enough = threading.Event()
    host = site.url(0, "/").split("/")[2]
    said = {"hosts": [host], "requests_per_hour": 100_000, "min_delay_seconds": 0.02,
            "max_retries": 1}  # fmt: skip
    assert ask("PUT", f"{api}/sources/practice", said).status == 201
    timetable = {
        "name": "often",
        "cron": "* * * * *",
        "payload": {"fetch": {"url": site.url(0, "/page/1")}},
    }
    assert ask("POST", f"{api}/schedules", timetable).status == 201
    [listed] = [one for one in ask("GET", f"{api}/schedules").json["schedules"]
                if one["name"] == "often"]  # fmt: skip
    assert ask("POST", f"{api}/schedules/{listed['id']}/run").status < 300

    def submit() -> None:
        n = 0
        while not enough.is_set():
            paths = (f"/page/{n}", f"/page/{n + 1}", f"/status/404/{n}", f"/flaky/1/{n}")
            body = {"articles": [{"url": site.url(0, path)} for path in paths]}
            ask("POST", f"{api}/jobs/submit", body)
            n += 2
            enough.wait(0.2)

    thread = threading.Thread(target=submit)
    thread.start()
    try:
        yield
    finally:
        enough.set()
        thread.join()


def test_every_query_and_every_rule_finds_data(tmp_path: Path) -> None:
    with (
        PracticeProcess(hosts=1) as site,
        running(tmp_path, "up", retry_base=0.1) as service,
        busy(service.url, site),
    ):
        subprocess.run(
            [service.process.args[0], "-m", "curtsy", "examples", "monitoring"],  # type: ignore[index]
            cwd=tmp_path, check=True, capture_output=True,
        )  # fmt: skip
        with scraping(tmp_path, service.url.removeprefix("http://")) as database:
            missing = queries() | conditions()

            def all_there() -> bool:
                for name, query in list(missing.items()):
                    if database.has_data(query):
                        del missing[name]
                return not missing

            wait_for(all_there, lambda: f"without data: {missing}")


def test_prometheus_itself_accepts_the_files() -> None:
    program = promtool()
    assert program is not None
    for command in (["check", "rules", "curtsy.rules.yml"], ["check", "config", "prometheus.yml"]):
        told = subprocess.run(
            [program, *command], cwd=EXAMPLES, capture_output=True, text=True, check=False
        )
        assert told.returncode == 0, told.stderr


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])
def test_every_rule_says_what_is_wrong_and_what_to_do(rule: dict[str, Any]) -> None:
    assert rule["annotations"]["summary"].endswith(".")
    assert (
        "`curtsy" in rule["annotations"]["description"]
        or "`CURTSY" in rule["annotations"]["description"]
    )


def test_the_dashboard_asks_for_its_datasource() -> None:
    assert DASHBOARD["templating"]["list"][0]["type"] == "datasource"
    for panel in DASHBOARD["panels"]:
        if panel["type"] != "row":
            assert panel["datasource"]["uid"] == "${datasource}"
            assert all(
                target["datasource"]["uid"] == "${datasource}" for target in panel["targets"]
            )
