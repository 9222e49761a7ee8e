"""curtsy: a distributed job scheduler for web scraping.

The rooms are the words of the nine sentences in docs/explanation/design.md; a room may import
only the rooms below it, which `make check` enforces.
"""

__version__ = "0.1.0"
