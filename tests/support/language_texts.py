"""A short news text in each of many languages, written for these tests. Each says about the same
of a council, a harbour and a bridge."""

from pathlib import Path

_LINES = Path(__file__).with_suffix(".txt").read_text(encoding="utf-8").splitlines()
TEXTS = dict(line.split("\t") for line in _LINES)
"""By the code of the language."""
