"""A room owns its tables, the edges hold no SQL, and the glossary and the map name what exists."""

import re
import subprocess
import sys
from pathlib import Path

from curtsy.store.schema import metadata

ROOT = Path(__file__).parents[3]
SRC = ROOT / "src/curtsy"
OWNERS = {
    "access": {"api_keys", "sessions"},
    "alerts": {"alert_changes", "alert_channels", "alert_deliveries", "alert_evaluations",
               "alert_mutes", "alert_rules", "alerts"},
    "events": {"events", "secrets", "webhook_deliveries"},
    "frontier": {"attempts", "clock", "cookie_jars", "crawled", "crawls", "dead_letters",
                 "documents", "hosts", "items", "links", "lists", "pages", "receipts",
                 "seen_entries", "sources", "subscriptions", "visits", "workers"},
    "history": {"history", "history_batches", "history_state"},
    "jobs": {"job_tags", "jobs", "submissions"},
    "maintenance": {"offers"},
    "reports": {"stored_reports"},
    "schedules": {"firings", "schedulers", "schedules"},
    "sites": {"records", "sightings", "sites"},
    "store": {"schema_support"},
}  # fmt: skip
"""Which room writes which tables; every room may read every table."""
EXCEPTIONS = {
    "frontier/job_counts.py": ({"jobs"}, "the flush counts jobs in its own transaction"),
    "frontier/clock_sync.py": ({"alert_deliveries", "schedules"},
                               "a clock that jumped shifts all waits at once"),
    "jobs/purge.py": ({"crawled", "crawls", "events", "firings", "items", "links", "lists", "pages",
                       "sightings", "webhook_deliveries"},
                      "a purge deletes a job's rows in every table, in one transaction"),
}  # fmt: skip
EDGES = ("api", "cli", "client", "config", "demo", "model", "politeness", "processes", "requests",
         "scrapers", "timetable", "fetch", "extract")  # fmt: skip
WRITE = re.compile(r"\b(?:INSERT INTO|UPDATE|DELETE FROM)\s+([a-z_]+|\{[a-z_]+\})")
SQL = re.compile(r"\b(?:SELECT\s.*\bFROM|INSERT INTO|UPDATE\s+[a-z_]+\s+SET|DELETE FROM)\b", re.S)
NAMED = re.compile(r"^\| [^|`]*`([a-z_/]+)`", re.MULTILINE)


def written_by(path: Path) -> set[str]:
    """Tables that statements of the module write; `{table}` for one that is computed."""
    found = set(WRITE.findall(path.read_text()))
    return {name for name in found if name in metadata.tables or name.startswith("{")}


def test_each_table_has_one_owner() -> None:
    owned = [table for tables in OWNERS.values() for table in tables]
    assert sorted(owned) == sorted(metadata.tables)


def test_only_the_owner_of_a_table_writes_to_it() -> None:
    wrong = []
    for path in sorted(SRC.rglob("*.py")):
        name = path.relative_to(SRC).as_posix()
        room = name.partition("/")[0]
        if room == "store":
            continue
        allowed = OWNERS.get(room, set()) | EXCEPTIONS.get(name, (set(), ""))[0]
        if name == "jobs/purge.py":
            allowed = allowed | {"{table}"}
        wrong += [f"{name} writes {table}" for table in sorted(written_by(path) - allowed)]
    assert wrong == []


def test_every_exception_is_still_needed() -> None:
    for name, (tables, _reason) in EXCEPTIONS.items():
        text = (SRC / name).read_text()
        assert {table for table in tables if table not in text} == set(), name


def test_the_edges_hold_no_sql() -> None:
    found = [
        path.relative_to(SRC).as_posix()
        for room in EDGES
        for path in (SRC / room).rglob("*.py")
        if SQL.search(path.read_text())
    ]
    assert found == []


def test_workers_and_schedulers_load_no_web_framework() -> None:
    """The import contract says so of what is written; this says it of what is loaded."""
    program = (
        "import sys, curtsy.processes.worker, curtsy.processes.scheduler\n"
        "print([name for name in ('fastapi', 'starlette', 'uvicorn') if name in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (ran.stdout.strip(), ran.stderr) == ("[]", "")


def test_the_glossary_names_every_room_and_every_table() -> None:
    rooms = {path.stem for path in SRC.iterdir() if path.stem.isalpha()} - {"py"}
    words = (ROOT / "docs/glossary.md").read_text()
    assert set(NAMED.findall(words)) == rooms | set(metadata.tables)


def test_every_word_of_the_glossary_has_one_meaning() -> None:
    words = re.findall(
        r"^\| ([^|`]+?)(?: \(`\w+`\))? \|", (ROOT / "docs/glossary.md").read_text(), re.M
    )
    assert sorted(words) == sorted(set(words))


def test_every_path_of_the_map_exists() -> None:
    text = (ROOT / "docs/explanation/map.md").read_text()
    named = re.findall(r"`((?:src/curtsy|tests|docs)/[\w/.-]+)`", text)
    assert len(named) > 30
    assert [path for path in named if not (ROOT / path).exists()] == []
