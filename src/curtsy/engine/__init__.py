"""The whole engine within a Python program or notebook: needs no service and leaves none behind."""

from curtsy.engine.engine import AsyncOpenEngine, Engine, OpenEngine
from curtsy.engine.one_call import scrape, scrape_async
from curtsy.engine.results_list import Results

__all__ = ["AsyncOpenEngine", "Engine", "OpenEngine", "Results", "scrape", "scrape_async"]
