"""curtsy: a distributed job scheduler for web scraping.

The rooms are the words of the nine sentences in docs/explanation/design.md; a room may import
only the rooms below it, which `make check` enforces.
"""

TYPE_CHECKING = False  # `typing` would take as long to load as the whole of `curtsy --version`
if TYPE_CHECKING:
    from curtsy.client import AsyncClient as AsyncClient
    from curtsy.client import Client as Client

__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    """`from curtsy import Client`: loaded for those who want it, and for nobody else."""
    if name in ("Client", "AsyncClient"):
        from importlib import import_module

        return getattr(import_module("curtsy.client"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
