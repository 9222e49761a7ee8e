"""Formats what a scraper's process can and cannot do on this machine, for `curtsy doctor`."""

import dataclasses
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from curtsy.extract.confinement_check import MachineConfinement

WORDS = {
    "network": "use the network",
    "file_changes": "change files",
    "reading": "read files other than code",
    "processes": "start processes",
    "signals": "signal other processes",
    "inspection": "read the environment and memory of curtsy's processes",
    "namespaces": "change namespaces",
    "capabilities": "use capabilities of root",
}


def confinement_lines(found: "MachineConfinement") -> list[str]:
    refused = dataclasses.asdict(found.refused)
    held = [words for name, words in WORDS.items() if refused[name]]
    lacking = [words for name, words in WORDS.items() if not refused[name]]
    version = f"version {found.landlock}" if found.landlock else "not there"
    lines = ["", f"Scrapers on this machine (Landlock: {version})"]
    lines += [f"  A scraper's process cannot {words}." for words in held]
    return [*lines, *(f"  A scraper's process CAN {words}." for words in lacking)]
