"""Which files a confined process needs: the interpreter, its libraries, and the scrapers' code.

In a folder that is no library only code is readable: a database, settings and secrets often lie
next to a scraper's file.
"""

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

_LIBRARIES = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib")
_SYSTEM_FILES = ("/etc/ld.so.cache", "/etc/localtime", "/etc/timezone", "/etc/mime.types",
                 "/usr/share/zoneinfo", "/dev/null", "/dev/zero", "/dev/random",
                 "/dev/urandom")  # fmt: skip
_CODE = frozenset({".py", ".pyc", ".pyi", ".so", ".pth"})
_PACKAGE_DATA = frozenset({".dist-info", ".egg-info"})


@dataclass(frozen=True, slots=True)
class Readable:
    needed: tuple[Path, ...]
    """Without these nothing can be imported."""
    paths: tuple[Path, ...]
    """All that may be read, with what lies beneath."""
    listed: tuple[Path, ...]
    """Folders whose names may be listed."""


def readable(files: Sequence[str], data: Sequence[str] = ()) -> Readable:
    """Returns what a process may read that imports these files; `data` may be read as well."""
    prefixes = [path for one in _prefixes() if (path := Path(one)) != path.parent]
    search = [Path(one) for one in dict.fromkeys(sys.path) if one and Path(one).exists()]
    libraries = [path for path in search if _is_library(path, prefixes)]
    sources = [path for path in search if path not in libraries]
    sources += [Path(file).parent for file in files]
    system = [Path(one) for one in (*_LIBRARIES, *_SYSTEM_FILES)]
    return Readable(
        needed=(*libraries, *sources, *map(Path, files)),
        paths=(*prefixes, *libraries, *_code_in(sources), *system, *map(Path, (*files, *data))),
        listed=tuple(sources),
    )


def as_arguments(files: Sequence[str], data: Sequence[str]) -> list[str]:
    """Returns `FILE… [--data PATH…]`, for the command line of a process that is to be confined."""
    return [*files, *(("--data", *data) if data else ())]


def split_arguments(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Returns the files and the data of such a command line."""
    at = arguments.index("--data") if "--data" in arguments else len(arguments)
    return list(arguments[:at]), list(arguments[at + 1 :])


def _prefixes() -> list[str]:
    return [sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix]


def _is_library(path: Path, prefixes: Sequence[Path]) -> bool:
    if path.name in ("site-packages", "dist-packages") or path.is_file():  # a zip file
        return True
    return any(path.is_relative_to(prefix) for prefix in prefixes)


def _code_in(folders: Iterable[Path]) -> list[Path]:
    """Returns the Python files and packages in these folders."""
    found = []
    for folder in dict.fromkeys(folders):
        try:
            entries = sorted(folder.iterdir())
        except OSError:
            continue
        found += [entry for entry in entries if _is_code(entry)]
    return found


def _is_code(entry: Path) -> bool:
    if entry.name.startswith("."):
        return False
    if entry.suffix in _CODE or entry.suffix in _PACKAGE_DATA or entry.name == "__pycache__":
        return True
    try:
        return entry.is_dir() and any(one.suffix == ".py" for one in entry.iterdir())
    except OSError:
        return False
