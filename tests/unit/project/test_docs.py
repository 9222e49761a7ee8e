"""The documentation is true: what exists is documented, and what is documented exists."""

import re
from pathlib import Path

import pytest
import typer

from curtsy.api.app import create_app
from curtsy.cli.program import build
from curtsy.config import Settings
from curtsy.model.failure_kinds import RULES
from curtsy.model.outcome import Failed, Moved, NotModified, Reply
from curtsy.politeness.classify import classify
from curtsy.store.schema import metadata

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs"


def first_column(path: Path) -> set[str]:
    """What stands in code marks in the first column of the tables."""
    rows = [line.split("|")[1] for line in path.read_text().splitlines() if line.startswith("| `")]
    return {name for row in rows for name in re.findall(r"`([^`]+)`", row)}


def test_every_setting_is_documented_with_its_default() -> None:
    documented = first_column(DOCS / "reference/settings.md")
    assert documented == {name.upper() for name in Settings.model_fields}
    text = (DOCS / "reference/settings.md").read_text()
    for name, field in Settings.model_fields.items():
        if name not in ("user_agent", "allow_addresses", "extract_processes"):
            default = field.default
            shown = f"{default:g}" if isinstance(default, float) else str(default)
            row = next(line for line in text.splitlines() if line.startswith(f"| `{name.upper()}`"))
            assert shown in row, f"{name}: {shown}"


def test_every_failure_kind_is_documented_as_it_is() -> None:
    text = (DOCS / "reference/failure-kinds.md").read_text()
    for kind, rule in RULES.items():
        words = [f"`{kind}`", rule.family, "yes" if rule.retried else "no",
                 "yes" if rule.hosts_fault else "no", rule.means]  # fmt: skip
        assert f"| {' | '.join(words)} |" in text
    assert first_column(DOCS / "reference/failure-kinds.md") == set(RULES)


def _meaning(status: int) -> str:
    reply = Reply(status, "http://a.example/", {"location": "/there"}, b"", 0)
    match classify(reply, 0, conditional=True):
        case None:
            return "a page"
        case Moved():
            return "moved"
        case NotModified():
            return "not modified"
        case Failed() as failed:
            return f"`{failed.kind}`"


def test_every_status_means_what_the_table_says() -> None:
    text = (DOCS / "reference/failure-kinds.md").read_text()
    table = text.partition("| status | outcome |\n|---|---|\n")[2].partition("\n\n")[0]
    means: dict[int, str] = {}
    for line in table.splitlines():
        statuses, outcome = (cell.strip() for cell in line.strip("|").split("|"))
        if span := re.fullmatch(r"any other from (\d+) to (\d+)", statuses):
            named = range(int(span[1]), int(span[2]) + 1)
        else:
            named = range(100, 1000) if statuses == "any other" else statuses.split(", ")
        for status in named:
            means.setdefault(int(status), outcome)
    wrong = [s for s in range(100, 1000) if not means[s].startswith(_meaning(s))]
    assert wrong == []


def test_every_table_is_documented() -> None:
    assert first_column(DOCS / "explanation/tables.md") == set(metadata.tables)


def test_every_path_of_the_api_is_documented() -> None:
    app = create_app(None)  # type: ignore[arg-type]  # its description needs no desk
    text = (DOCS / "reference/api.md").read_text()
    paths = app.openapi()["paths"]
    described = {f"{m.upper()} {path}" for path, methods in paths.items() for m in methods}
    documented = {re.sub(r"\{\w+\}", "{id}", name) for name in described}
    assert documented == first_column(DOCS / "reference/api.md")
    assert "/openapi.json" in text


def test_every_command_is_documented() -> None:
    documented = first_column(DOCS / "reference/command-line.md")
    group = typer.main.get_group(build())
    commands = set()
    for name, command in group.commands.items():
        inner = getattr(command, "commands", None)
        commands |= {f"curtsy {name} {sub}" for sub in inner or ()}
        if not inner or getattr(command, "invoke_without_command", False):
            commands.add(f"curtsy {name}")
    assert documented == commands


@pytest.mark.parametrize("path", [ROOT / "README.md", *DOCS.rglob("*.md")], ids=lambda p: p.name)
def test_links_lead_somewhere(path: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)", path.read_text()):
        if "://" not in target:
            assert (path.parent / target).exists(), target
