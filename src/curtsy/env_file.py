"""Reads `.env` in the working folder: a line `NAME=value` for each variable.

The variables do not become part of this process's environment: settings and `env:NAME` references
look here for what the environment lacks, and everything else in the file has no effect.
"""

import os
import re
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

FILE = ".env"
MOST_BYTES = 256 * 1024
_ASSIGNMENT = re.compile(r"\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*)", re.S)
_NAME = re.compile(r"(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)")
_DOUBLE = re.compile(r'"((?:[^"\\]|\\.)*)"\s*(?:#.*)?')
_SINGLE = re.compile(r"'([^']*)'\s*(?:#.*)?")
_ESCAPE = re.compile(r"\\(.)")
_COMMENT = re.compile(r"(?:^|\s)#.*")


class EnvFileUnreadable(ValueError):
    """The text is a sentence."""


@dataclass(frozen=True, slots=True)
class EnvFile:
    variables: Mapping[str, str] = field(default_factory=dict)
    wrong_lines: tuple[int, ...] = ()
    """The numbers of lines that are neither an assignment nor a comment; they have no effect."""
    wrong_names: Mapping[str, int] = field(default_factory=dict)
    """The names with which such lines begin, and the numbers of these lines."""


def read_env_file(path: Path = Path(FILE)) -> EnvFile:
    """Returns what the file says; nothing if it does not exist or is no file, such as the folder of
    a virtual environment. Raises `EnvFileUnreadable` for a file that exists: a process without its
    settings might use another database."""
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            return EnvFile()
        with path.open("rb") as file:
            text = file.read(MOST_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        return EnvFile()
    except OSError as error:
        reason = f"{error.strerror or error}, for UID {os.geteuid()}"
        raise EnvFileUnreadable(f"{path.absolute()} cannot be read ({reason}).") from None
    if b"\0" in text:  # as in UTF-16
        raise EnvFileUnreadable(f"{path.absolute()} is no UTF-8 text: save it as such.")
    if len(text) > MOST_BYTES:
        raise EnvFileUnreadable(f"{path.absolute()} has more than {MOST_BYTES // 1024} KiB.")
    return parse_env_file(text.decode("utf-8-sig", errors="surrogateescape"))


def parse_env_file(text: str) -> EnvFile:
    """The last of several lines with one name counts, as in a shell."""
    variables, wrong, names = {}, [], {}
    for number, line in _lines(text):
        assigned = _assigned(line)
        if assigned is not None:
            variables[assigned[0]] = assigned[1]
            continue
        wrong.append(number)
        if name := _NAME.match(line):
            names[name[1]] = number
    return EnvFile(variables, tuple(wrong), names)


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Yields the lines that are not empty or comments, with their numbers."""
    for number, line in enumerate(text.split("\n"), 1):
        stripped = line.strip()
        if stripped and not stripped.startswith("#"):
            yield number, stripped


def _assigned(line: str) -> tuple[str, str] | None:
    """Returns the name and the value; None if the line is no assignment of one line of text."""
    found = _ASSIGNMENT.fullmatch(line)
    value = None if found is None else _value(found[2])
    if found is None or value is None or not (value.isprintable() or not value):
        return None
    return found[1], value


def _value(text: str) -> str | None:
    """Removes quotes and a comment. A `$` stays as it is: nothing is replaced."""
    if text.startswith('"'):
        quoted = _DOUBLE.fullmatch(text)
        return None if quoted is None else _ESCAPE.sub(r"\1", quoted[1])
    if text.startswith("'"):
        quoted = _SINGLE.fullmatch(text)
        return None if quoted is None else quoted[1]
    return _COMMENT.sub("", text, count=1).strip()
