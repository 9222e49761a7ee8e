"""What commands that ask nobody do not load: the time until they answer is that of their imports.

What commands and processes at work do not load is in `tests/system/cli/test_loaded_modules.py`.
"""

import os
from pathlib import Path

import pytest

from support.loaded_modules import loaded_by

ENGINE = {"alembic", "fastapi", "pydantic_settings", "sqlalchemy", "trafilatura", "uvicorn",
          "curtsy.config", "curtsy.store", "curtsy.worker"}  # fmt: skip
LIBRARIES = {"httpx", "publicsuffixlist", "rich.console", "structlog", "uvloop", "websockets"}
NOT_LOADED = {
    ("--version",): ENGINE | LIBRARIES | {"asyncio", "orjson", "pydantic", "typer", "typing"},
    ("--help",): ENGINE | LIBRARIES | {"pydantic"},
    ("jobs", "--help"): ENGINE | LIBRARIES | {"curtsy.cli.commands.scrape"},
    ("db", "--help"): ENGINE | LIBRARIES | {"curtsy.cli.commands.jobs"},
}


@pytest.mark.parametrize("arguments", NOT_LOADED, ids=" ".join)
def test_a_command_that_asks_nobody_loads_little(
    arguments: tuple[str, ...], tmp_path: Path
) -> None:
    loaded = loaded_by(*arguments, folder=tmp_path, environment=os.environ)
    assert loaded & NOT_LOADED[arguments] == set()


@pytest.mark.parametrize("arguments", NOT_LOADED, ids=" ".join)
def test_each_of_them_would_be_noticed(arguments: tuple[str, ...], tmp_path: Path) -> None:
    names = NOT_LOADED[arguments]
    loaded = loaded_by(*arguments, folder=tmp_path, environment=os.environ, also=names)
    assert loaded & names == names
