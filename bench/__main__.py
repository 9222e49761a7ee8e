"""`python -m bench [NAME…] [--quick] [--json FILE]`: one table, status 1 if a bar was missed."""

import argparse
import json
import signal
import sys
import time
import traceback
from importlib import import_module
from pathlib import Path

from bench.databases import Databases
from bench.lines import Line, table
from bench.sizes import FULL, QUICK

NAMES = ("pages", "politeness", "policy", "articles", "care", "bodies", "frontier", "backlog",
         "submit", "latency", "memory", "history", "schedules", "api", "results",
         "streams")  # fmt: skip


def options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"some of {', '.join(NAMES)}")
    parser.add_argument("--quick", action="store_true", help="small sizes: a smoke test")
    parser.add_argument("--json", type=Path, metavar="FILE", help="the lines, for programs")
    chosen = parser.parse_args(arguments)
    if unknown := set(chosen.names) - set(NAMES):
        parser.error(f"no such benchmark: {', '.join(sorted(unknown))}")
    return chosen


def main(arguments: list[str]) -> int:
    chosen = options(arguments)
    sizes = QUICK if chosen.quick else FULL
    lines: list[Line] = []
    broken: list[str] = []
    for name in chosen.names or NAMES:
        print(f"{name}:", flush=True)
        began = time.monotonic()
        try:
            with Databases() as databases:
                lines += import_module(f"bench.{name}").run(sizes, databases)
        except Exception:
            traceback.print_exc()
            broken.append(name)
        print(f"  took {time.monotonic() - began:.0f} s", flush=True)
    print(f"\n{table(lines)}")
    if broken:
        print(f"\nNot measured, because of an error: {', '.join(broken)}.")
    if chosen.quick:
        print("\nSmall sizes: the figures mean nothing, and no bar is checked.")
    if chosen.json:
        chosen.json.write_text(json.dumps([line.as_json() for line in lines], indent=2) + "\n")
    missed = not chosen.quick and not all(line.passed for line in lines)
    return 1 if broken or missed else 0


if __name__ == "__main__":
    # Turns the signal into an exit, so that every `with` cleans up.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    sys.exit(main(sys.argv[1:]))
