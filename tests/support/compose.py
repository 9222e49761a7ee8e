"""Reads docker-compose.yml as Compose does: merged, and with the variables of `.env` in place."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from curtsy.env_file import parse_env_file

ROOT = Path(__file__).parents[2]
_VARIABLE = re.compile(r"\$\{([A-Z_]+):-([^}]*)\}")


def compose_file(variables: Mapping[str, str]) -> dict[str, Any]:
    """`${NAME:-default}` is replaced in values, after the file was read."""
    read = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    found: dict[str, Any] = _replaced(read, variables)
    return found


def _replaced(value: Any, variables: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {name: _replaced(one, variables) for name, one in value.items()}
    if isinstance(value, list):
        return [_replaced(one, variables) for one in value]
    if isinstance(value, str):
        return _VARIABLE.sub(lambda found: variables.get(found[1]) or found[2], value)
    return value


def example_variables() -> dict[str, str]:
    """What `cp .env.example .env` leads to."""
    return dict(parse_env_file((ROOT / ".env.example").read_text()).variables)


def image_environment() -> dict[str, str]:
    """The variables of the Dockerfile's last image but for PATH, which is that of its folders."""
    lines = (ROOT / "Dockerfile").read_text().replace("\\\n", " ").splitlines()
    [given] = [line for line in lines if line.startswith("ENV ")]
    found = dict(one.split("=", 1) for one in given.split()[1:])
    return {name: value for name, value in found.items() if name != "PATH"}
