"""`python -m bench [NAME…] [--quick | --full] [--pages FOLDER] [--beside REVISION] [--json FILE]`:
one table, status 1 if a bar was missed."""

import argparse
import json
import os
import signal
import sys
import time
import traceback
from dataclasses import replace
from importlib import import_module
from pathlib import Path

from bench.databases import Databases
from bench.lines import Line, table
from bench.sizes import LONG, QUICK, USUAL, Sizes

NAMES = ("pages", "processes", "politeness", "policy", "articles", "pool", "hostile-articles",
         "care", "bodies", "frontier", "backlog", "growth", "submit", "statements", "latency",
         "memory", "article-memory", "history", "history-cost", "cleanup", "vacuum", "schedules",
         "api", "results",
         "streams", "startup")  # fmt: skip
PAGES_VARIABLE = "BENCH_PAGES"


def options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"some of {', '.join(NAMES)}")
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="small sizes: a smoke test")
    size.add_argument("--full", action="store_true", help="the largest sizes: hours")
    parser.add_argument("--pages", type=Path, metavar="FOLDER", default=_pages_of_environment(),
                        help=f"article pages, *.html or *.html.gz ({PAGES_VARIABLE})")  # fmt: skip
    parser.add_argument("--beside", metavar="REVISION", default=USUAL.beside,
                        help=f"the revision to compare with ({USUAL.beside})")  # fmt: skip
    parser.add_argument("--json", type=Path, metavar="FILE", help="the lines, for programs")
    chosen = parser.parse_args(arguments)
    if unknown := set(chosen.names) - set(NAMES):
        parser.error(f"no such benchmark: {', '.join(sorted(unknown))}")
    if chosen.pages is not None and not chosen.pages.is_dir():
        parser.error(f"no such folder: {chosen.pages}")
    return chosen


def _pages_of_environment() -> Path | None:
    folder = os.environ.get(PAGES_VARIABLE)
    return Path(folder) if folder else None


def _sizes(chosen: argparse.Namespace) -> Sizes:
    sizes = QUICK if chosen.quick else LONG if chosen.full else USUAL
    return replace(sizes, article_folder=chosen.pages, beside=chosen.beside)


def main(arguments: list[str]) -> int:
    chosen = options(arguments)
    sizes = _sizes(chosen)
    lines: list[Line] = []
    broken: list[str] = []
    for name in chosen.names or NAMES:
        print(f"{name}:", flush=True)
        began = time.monotonic()
        try:
            with Databases() as databases:
                lines += import_module(f"bench.{name.replace('-', '_')}").run(sizes, databases)
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
