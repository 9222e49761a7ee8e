"""curtsy: a distributed job scheduler for web scraping.

In a script or notebook: `curtsy.scrape(urls)`, `curtsy.Engine()`, and `curtsy.Client()` for a
service. The rooms are the words of the nine sentences in docs/explanation/design.md; a room may
import only the rooms below it, which `make check` enforces.
"""

TYPE_CHECKING = False  # `typing` would take as long to load as the whole of `curtsy --version`
if TYPE_CHECKING:
    from curtsy.client import Article as Article
    from curtsy.client import AsyncClient as AsyncClient
    from curtsy.client import Client as Client
    from curtsy.client import PageFailure as PageFailure
    from curtsy.client import RawPage as RawPage
    from curtsy.client import RecordRow as RecordRow
    from curtsy.engine import Engine as Engine
    from curtsy.engine import Results as Results
    from curtsy.engine import scrape as scrape
    from curtsy.engine import scrape_async as scrape_async

__version__ = "0.1.0"

_ROOMS = {
    "curtsy.client": (
        "Article", "AsyncClient", "Client", "PageFailure", "RawPage", "RecordRow",
    ),
    "curtsy.engine": ("Engine", "Results", "scrape", "scrape_async"),
}  # fmt: skip


def __getattr__(name: str) -> object:
    """`from curtsy import Client`: loaded for those who want it, and for nobody else."""
    for room, names in _ROOMS.items():
        if name in names:
            from importlib import import_module

            return getattr(import_module(room), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *(name for names in _ROOMS.values() for name in names)])
