"""Programs of other versions: the commit before rolling upgrades, and a release yet to come."""

import asyncio
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import pytest

from curtsy.store.version import newest

ROOT = Path(__file__).parents[2]
PREVIOUS = "c78afd36f385d2f5746a0215665ebdb0e1f43f67"
"""The last commit whose programs knew schema 0013 as the newest, and nothing of others."""
SECONDS = 120
NEXT = f"{int(newest()) + 1:04}"
_HEAD = f'''"""A made-up migration."""

import sqlalchemy as sa
from alembic import op

from curtsy.store.upgrade.plan import LargeIndex

revision = "{NEXT}"
down_revision = "{newest()}"
branch_labels = None
depends_on = None
'''
EXPAND = f'''{_HEAD}
oldest_program = "{newest()}"
large_indexes = (LargeIndex("attempts_by_worker", "attempts", ("worker", "ended_at")),)


def upgrade() -> None:
    op.add_column("jobs", sa.Column("colour", sa.Text()))
    op.add_column("attempts", sa.Column("colour", sa.Text()))
    op.create_table("inventions", sa.Column("id", sa.Integer, primary_key=True))
'''
CONTRACT = f'''{_HEAD}
oldest_program = "{NEXT}"


def upgrade() -> None:
    op.drop_index("firings_by_time", "firings")
'''
"""It drops what workers do without: what counts here is that it declares the end of support."""


@dataclass(frozen=True, slots=True)
class Told:
    code: int
    out: str
    err: str


@dataclass(frozen=True, slots=True)
class Release:
    """The program of one version, by its `src` folder."""

    source: Path

    @property
    def environment(self) -> Mapping[str, str]:
        return {"PYTHONPATH": str(self.source)}

    async def run(self, *arguments: str, url: str) -> Told:
        """Runs one of its commands to its end."""
        own = {k: v for k, v in os.environ.items() if not k.startswith("CURTSY_")}
        own |= {"CURTSY_DATABASE_URL": url} | dict(self.environment)
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "curtsy", *arguments, env=own,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        out, err = await asyncio.wait_for(process.communicate(), SECONDS)
        return Told(process.returncode or 0, out.decode(), err.decode())


THIS = Release(ROOT / "src")


def previous_release(folder: Path) -> Release:
    """Unpacks the commit before; skips the test where git has no such commit, as in a shallow
    clone."""
    archive = subprocess.run(
        ["git", "archive", "--format=tar", PREVIOUS, "src"], cwd=ROOT, capture_output=True
    )
    if archive.returncode:
        why = archive.stderr.decode().strip()
        pytest.skip(f"NOT TESTED: the release before is not in the history of this copy ({why})")
    with tarfile.open(fileobj=BytesIO(archive.stdout)) as tar:
        tar.extractall(folder, filter="data")
    return Release(folder / "src")


def next_release(folder: Path, migration: str) -> Release:
    """This program with one migration more."""
    source = folder / "src"
    shutil.copytree(ROOT / "src/curtsy", source / "curtsy")
    (source / f"curtsy/store/migrations/versions/{NEXT}_made_up.py").write_text(migration)
    return Release(source)
