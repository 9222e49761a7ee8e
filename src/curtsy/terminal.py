"""Cleans text from elsewhere before it is printed on a terminal, which would obey it."""

import re

_CONTROLS = r"\x00-\x1f\x7f-\x9f"
_DIRECTIONS = r"\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
"""Marks, embeddings, overrides and isolates of direction: they show text in another order than it
has."""
_LINES = r"\u2028\u2029"
STEERING = re.compile(f"[{_CONTROLS}{_DIRECTIONS}{_LINES}]+")
"""Characters that steer a terminal, line ends and tabs among them."""
_ONE = re.compile(f"(?![\n\t])[{_CONTROLS}{_DIRECTIONS}{_LINES}]")
_ONE_IN_JSON = re.compile(f"(?!\n)[{_CONTROLS}{_DIRECTIONS}{_LINES}]")


def printable(text: str) -> str:
    """Escapes every character that steers a terminal, as `\\x1b` or `\\u202e`; keeps line ends and
    tabs."""
    return _ONE.sub(_escaped, text)


def printable_json(text: str) -> str:
    """The same for JSON, which means the same afterwards."""
    return _ONE_IN_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _escaped(found: re.Match[str]) -> str:
    number = ord(found[0])
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}"
