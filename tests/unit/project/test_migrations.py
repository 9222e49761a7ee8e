"""A migration declares which programs work with its result, and does nothing that ends them."""

from pathlib import Path

import pytest

from support.migration_rules import FIRST, problems
from support.releases import CONTRACT, EXPAND, NEXT

VERSIONS = Path(__file__).parents[3] / "src/curtsy/store/migrations/versions"
HEAD = 'revision = "0021"\noldest_program = "0020"\n'


@pytest.mark.parametrize("path", sorted(VERSIONS.glob("[0-9]*.py")), ids=lambda path: path.stem)
def test_older_programs_survive_a_migration_as_it_declares(path: Path) -> None:
    assert problems(path.read_text()) == []


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ('op.drop_table("jobs")', "drops a table"),
        ('op.drop_column("jobs", "name")', "drops a column"),
        ('op.drop_index("jobs_newest", "jobs")', "drops an index"),
        ('op.rename_table("jobs", "requests")', "renames a table"),
        ('op.alter_column("jobs", "name", nullable=False)', "changes a column"),
        ('op.batch_alter_table("jobs")', "copies a table"),
        ('op.create_unique_constraint("one", "jobs", ["name"])', "forbids rows"),
        ('op.create_index("one", "jobs", ["name"], unique=True)', "forbids rows"),
        ('op.add_column("jobs", sa.Column("a", sa.Text(), nullable=False))',
         "adds a column that older programs do not fill"),
        ('op.add_column("jobs", column)', "adds a column that this check cannot read"),
        ('op.execute("ALTER TABLE jobs  drop COLUMN a")', "runs 'ALTER TABLE jobs drop COLUMN a'"),
        ('op.execute("ALTER TABLE jobs RENAME TO a")', "runs 'ALTER TABLE jobs RENAME TO a'"),
        ('op.execute("ALTER TABLE a ALTER b SET NOT NULL")',
         "runs 'ALTER TABLE a ALTER b SET NOT NULL'"),
    ],
)  # fmt: skip
def test_what_older_programs_do_not_survive_is_found(line: str, what: str) -> None:
    assert problems(HEAD + line) == [f"line 3: {what}"]
    assert problems(HEAD.replace("0020", "0021") + line) == [], "where nobody is promised anything"


@pytest.mark.parametrize(
    "line",
    [
        'op.add_column("jobs", sa.Column("a", sa.Text()))',
        'op.add_column("jobs", sa.Column("a", sa.Integer, nullable=False, server_default="0"))',
        'op.create_table("a")\nop.create_index("one", "a", ["name"], unique=True)',
        'op.create_index("b", "jobs", ["name"])',
        'op.execute("ALTER TABLE jobs SET (autovacuum_vacuum_scale_factor = 0.01)")',
    ],
)
def test_what_older_programs_survive_is_allowed(line: str) -> None:
    assert problems(HEAD + line) == []


def test_a_migration_declares_which_programs_work_with_it() -> None:
    silent = f'revision = "{FIRST}"'
    assert problems(silent) == ["it does not declare `oldest_program`"]
    assert problems(f'{silent}\noldest_program = "9999"') == ["programs of 9999 do not exist yet"]


def test_the_migrations_that_tests_make_up_keep_the_rules() -> None:
    assert problems(EXPAND) == problems(CONTRACT) == []
    assert problems(CONTRACT.replace(f'program = "{NEXT}"', f'program = "{FIRST}"')) != []
