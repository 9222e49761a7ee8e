"""A scraper that tries to change files, by Python and by the C library."""

import ctypes
import mmap
import os
import tempfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from curtsy.scrapers import Page, scraper

_LIBC = ctypes.CDLL(None, use_errno=True)
_AT_FDCWD, _NOWHERE = -100, ctypes.c_void_p(0)


def _by_c(name: str, *arguments: object) -> Callable[[], None]:
    given = [one.encode() if isinstance(one, str) else one for one in arguments]

    def call() -> None:
        if getattr(_LIBC, name)(*given) == -1:
            error = ctypes.get_errno()
            raise OSError(error, os.strerror(error))

    return call


@scraper
def changes(page: Page) -> dict[str, str]:
    """What each attempt at the file, or in its folder, came to."""
    file = page.params["file"]
    new = f"{file}.new"
    attempts: dict[str, Callable[[], object]] = {
        "write": lambda: Path(file).write_text("x"),
        "append": lambda: os.open(file, os.O_APPEND | os.O_WRONLY),
        "remove": lambda: Path(file).unlink(),
        "rename": lambda: Path(file).rename(new),
        "mkdir": lambda: Path(new).mkdir(),
        "temporary": tempfile.TemporaryFile,
        "c write": _by_c("open", file, os.O_WRONLY),
        "c read and write": _by_c("openat", _AT_FDCWD, file, os.O_RDWR),
        "c truncate at open": _by_c("open", file, os.O_TRUNC),
        "c make": _by_c("open", new, os.O_CREAT, 0o600),
        "c creat": _by_c("creat", new, 0o600),
        "c truncate": _by_c("truncate", file, 0),
        "c unlink": _by_c("unlink", file),
        "c unlinkat": _by_c("unlinkat", _AT_FDCWD, file, 0),
        "c rename": _by_c("rename", file, new),
        "c link": _by_c("link", file, new),
        "c symlink": _by_c("symlink", file, new),
        "c mkdir": _by_c("mkdir", new, 0o700),
        "c rmdir": _by_c("rmdir", page.params["folder"]),
        "c chmod": _by_c("chmod", file, 0),
        "c chown": _by_c("chown", file, 1, 1),
        "c utimes": _by_c("utimes", file, _NOWHERE),
        "c mknod": _by_c("mknod", new, 0o100600, 0),
        "c setxattr": _by_c("setxattr", file, "user.a", "b", 1, 0),
        "c ftruncate": lambda: _by_c("ftruncate", os.open(file, os.O_RDONLY), 0)(),
        "c fchmod": lambda: _by_c("fchmod", os.open(file, os.O_RDONLY), 0)(),
        "c openat2": _by_c("syscall", 437, _AT_FDCWD, file, ctypes.create_string_buffer(24), 24),
    }
    return {name: _came_to(attempt) for name, attempt in attempts.items()}


def _came_to(attempt: Callable[[], object]) -> str:
    try:
        attempt()
    except OSError as error:
        return type(error).__name__ if error.errno is None else os.strerror(error.errno)
    return "done"


@scraper
def needs(page: Page) -> dict[str, object]:
    """What a scraper may well want to do."""
    memory = mmap.mmap(-1, 1_000_000)
    memory[:5] = b"hello"
    reading, writing = os.pipe()
    os.write(writing, b"piped")
    return {
        "read": Path(page.params["file"]).read_text(),
        "imported": import_module("wave").__name__,
        "memory": memory[:5].decode(),
        "pipe": os.read(reading, 5).decode(),
        "listed": [one.name for one in Path(page.params["folder"]).iterdir()],
    }
