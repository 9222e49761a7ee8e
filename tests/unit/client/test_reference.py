"""The reference of the Python interface names every method that there is."""

import re
from pathlib import Path

import curtsy
from curtsy.client import AsyncClient, AsyncJob, Client, Job
from curtsy.client.resources import Alerts, DeadLetters, DeclaredSites, Reports, Schedules, Sources

REFERENCE = Path(__file__).parents[3] / "docs/reference/python.md"
PARTS = {"schedules": Schedules, "sources": Sources, "sites": DeclaredSites,
         "dead_letters": DeadLetters, "alerts": Alerts, "reports": Reports}  # fmt: skip


def methods(of: type) -> set[str]:
    return {name for name in dir(of) if not name.startswith("_")}


def documented(text: str) -> set[str]:
    return set(re.findall(r"`([a-z_]+)(?:\(| \(|`)", text))


def test_every_method_of_clients_and_jobs_is_documented() -> None:
    text = REFERENCE.read_text()
    clients, _, rest = text.partition("## Clients")[2].partition("A job (`Job`")
    jobs, _, _ = rest.partition("| part |")
    assert methods(Client) == methods(AsyncClient) == documented(clients) & methods(Client)
    assert methods(Job) - {"result_stream"} == documented(jobs) & methods(Job)
    assert methods(Job) == methods(AsyncJob)


def test_every_method_of_a_part_is_documented() -> None:
    text = REFERENCE.read_text()
    for name, part in PARTS.items():
        [line] = [one for one in text.splitlines() if one.startswith(f"| `client.{name}`")]
        assert documented(line) >= methods(part), name


def test_every_name_of_the_package_is_documented() -> None:
    text = REFERENCE.read_text()
    names = {name for room in curtsy._ROOMS.values() for name in room}
    assert {name for name in names if f"curtsy.{name}" not in text} == {"Results"}
    assert "`Results`" in text
