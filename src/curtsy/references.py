"""References to secrets, `env:NAME` and `file:PATH`: stored and shown in place of the secret.

Only the operator's own files and settings may contain one. What comes through the API never becomes
a reference, or a caller could read the environment and the files of the server: in the database a
reference is an object, and the API accepts only text where a secret belongs.
"""

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from curtsy.env_file import EnvFileUnreadable, read_env_file

KINDS = ("env", "file")
MOST_BYTES = 16 * 1024
_REFERENCE = re.compile(r"(env|file):(.+)", re.S)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
ONLY_IN_FILES = (
    "is a reference to a secret (env:… or file:…), which only the operator's own files may contain"
)


class SecretMissing(ValueError):
    """A reference that leads to no secret; the text is a sentence without the secret."""


@dataclass(frozen=True, slots=True)
class Reference:
    kind: str
    """env or file"""
    name: str
    """Of the variable, or the path of the file."""

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}"

    def stored(self) -> dict[str, str]:
        return {self.kind: self.name}

    def resolve(self) -> str:
        """Reads the secret: the value of the variable, in the environment or in `.env`, or the file
        without its last line break. Raises `SecretMissing`."""
        text = self._variable() if self.kind == "env" else self._contents()
        if not text:
            raise SecretMissing(f"The secret {self} is not set or empty.")
        if not text.isprintable():
            raise SecretMissing(f"The secret {self} is not one line of text.")
        return text

    def _variable(self) -> str | None:
        if text := os.environ.get(self.name):
            return text
        try:
            return read_env_file().variables.get(self.name)
        except EnvFileUnreadable as error:
            raise SecretMissing(f"The secret {self} is not set: {error}") from None

    def _contents(self) -> str:
        try:
            with Path(self.name).open("rb") as file:
                return file.read(MOST_BYTES).decode().rstrip("\r\n")
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "not UTF-8"
            raise SecretMissing(f"The secret {self} cannot be read ({reason}).") from None


Secret = str | Reference


def reference_in(text: str) -> Reference | None:
    """The reference that a text of the operator's own is; None: the text is the secret itself."""
    found = _REFERENCE.fullmatch(text)
    if found is None or (found[1] == "env" and not _NAME.fullmatch(found[2])):
        return None
    return Reference(found[1], found[2])


def as_stored(text: str) -> Any:
    """What is stored of a text in an operator's file: an object for a reference."""
    found = reference_in(text)
    return text if found is None else found.stored()


def from_stored(value: Any) -> Secret:
    """A stored secret: text, or a reference."""
    if isinstance(value, str | Reference):
        return value
    [(kind, name)] = value.items()
    return Reference(kind, name)


def resolved(secret: Secret) -> str:
    """Raises `SecretMissing`."""
    return secret.resolve() if isinstance(secret, Reference) else secret
