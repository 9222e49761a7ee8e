"""Reads the TOML files of the operator: a table for each source, site or schedule."""

import tomllib
from pathlib import Path
from typing import Any

from curtsy.errors import BadSetting

LARGEST_BYTES = 10 * 2**20


def read_toml(path: Path, what: str, setting: str) -> dict[str, Any]:
    """Raises `BadSetting` if the file cannot be read."""
    try:
        if path.stat().st_size > LARGEST_BYTES:
            raise BadSetting(f"{path} has more than {LARGEST_BYTES // 2**20} MiB.")
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise BadSetting(
            f"There is no file {path.absolute()} to describe the {what}: create it, or unset "
            f"CURTSY_{setting}."
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadSetting(f"{path} cannot be read as TOML: {error}.") from None
    except OSError as error:
        raise BadSetting(f"{path} cannot be read ({error.strerror or error}).") from None
