"""Numbers and foreign text, as they are put into sentences and tables."""

import re
import shutil
import sys

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]+")


def counted(number: int, noun: str, *, capped: bool = False) -> str:
    """`1 page`, `2 pages`, `10000+ pages`."""
    return f"{number}{'+' if capped else ''} {noun}{'' if number == 1 and not capped else 's'}"


def one_line(text: str) -> str:
    """What came from elsewhere, without anything that a terminal would obey."""
    return _CONTROL.sub(" ", text).strip()


def moment(instant: str) -> str:
    """An RFC 3339 instant of the API, to the minute: for eyes."""
    return f"{instant[:16].replace('T', ' ')}Z"


def second(instant: str) -> str:
    """The same, to the second."""
    return f"{instant[:19].replace('T', ' ')}Z"


def in_utf8(text: str) -> str:
    """An argument as typed; bytes that are no UTF-8 become question marks, and nothing breaks."""
    return text.encode(errors="surrogateescape").decode(errors="replace")


def as_called() -> str:
    """How this program is called in this folder: as it was, where `curtsy` alone is not found."""
    if shutil.which("curtsy"):
        return "curtsy"
    called = sys.argv[0]
    return called if called.endswith("curtsy") else f"{sys.executable} -m curtsy"
