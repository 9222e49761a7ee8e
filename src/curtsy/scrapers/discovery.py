"""Loads the user's own scrapers from files and from installed packages.

This imports code of others: only for processes without secrets.
"""

import sys
import traceback
from collections.abc import Iterator, Sequence
from importlib.metadata import EntryPoint, entry_points
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

from curtsy.scrapers.custom import OwnScraper, declared

GROUP = "curtsy.scrapers"
_TRACEBACK_LINES = 12


class Unusable(Exception):
    """A file or package without a usable scraper; the text begins with a sentence."""


def load_own_scrapers(files: Sequence[str]) -> dict[str, OwnScraper]:
    """Returns all own scrapers by name. Raises `Unusable`."""
    sys.dont_write_bytecode = True
    found: dict[str, OwnScraper] = {}
    for own, where in _all_scrapers(files):
        if (other := found.setdefault(own.name, own)).function is not own.function:
            raise Unusable(f"{where} has a scraper {other.name!r}, but that name is already taken.")
    return found


def _all_scrapers(files: Sequence[str]) -> Iterator[tuple[OwnScraper, str]]:
    for number, file in enumerate(files):
        yield from ((own, file) for own in _from_file(Path(file), number))
    for point in installed():
        where = f"The package {point.dist.name if point.dist else point.value}"
        yield from ((own, where) for own in _from_package(point, where))


def installed() -> Sequence[EntryPoint]:
    """Returns the entry points of installed packages, without importing any of them."""
    return sorted(entry_points(group=GROUP), key=lambda point: (point.value, point.name))


def _from_file(path: Path, number: int) -> list[OwnScraper]:
    spec = spec_from_file_location(f"own_scrapers_{number}_{path.stem}", path)
    if not path.is_file() or spec is None or spec.loader is None:
        raise Unusable(f"{path} does not exist or is not a Python file.")
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    if (folder := str(path.parent)) not in sys.path:
        sys.path.append(folder)
    try:
        spec.loader.exec_module(module)
    except BaseException as error:
        raise Unusable(_not_imported(str(path), error)) from None
    return _declared_in(module, str(path))


def _from_package(point: EntryPoint, where: str) -> list[OwnScraper]:
    try:
        thing = point.load()
    except BaseException as error:
        raise Unusable(_not_imported(where, error)) from None
    if isinstance(thing, ModuleType):
        return _declared_in(thing, where)
    if (own := declared(thing)) is None:
        raise Unusable(f"{where} names {point.value} as a scraper, but it has no @scraper.")
    return [own]


def _declared_in(module: ModuleType, where: str) -> list[OwnScraper]:
    found = [own for thing in list(vars(module).values()) if (own := declared(thing)) is not None]
    if not found:
        raise Unusable(f"{where} has no scraper: put @scraper before a function.")
    return found


def _not_imported(where: str, error: BaseException) -> str:
    """Returns a sentence and the end of the traceback."""
    trace = error.__traceback__
    while trace is not None and _is_ours(trace.tb_frame.f_code.co_filename):
        trace = trace.tb_next
    lines = "".join(traceback.format_exception(type(error), error, trace)).splitlines()
    shown = "\n".join(lines[-_TRACEBACK_LINES:])
    return f"{where} cannot be imported ({type(error).__name__}).\n{shown}"


def _is_ours(file: str) -> bool:
    return file == __file__ or file.startswith("<frozen importlib")
