"""Files of the operator's, in TOML: a table for each thing that they declare."""

import tomllib
from pathlib import Path
from typing import Any

from curtsy.errors import BadSetting

LARGEST_BYTES = 10 * 2**20


def read_toml(path: Path, what: str, setting: str) -> dict[str, Any]:
    """All of it; whatever keeps it from being read is told in a sentence."""
    try:
        if path.stat().st_size > LARGEST_BYTES:
            raise BadSetting(f"{path} has more than {LARGEST_BYTES // 2**20} MiB.")
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise BadSetting(
            f"There is no file {path.absolute()}, which is to describe the {what}: write it, or "
            f"leave CURTSY_{setting} out."
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadSetting(f"{path} cannot be read as TOML: {error}.") from None
    except OSError as error:
        raise BadSetting(f"{path} cannot be read ({error.strerror or error}).") from None
