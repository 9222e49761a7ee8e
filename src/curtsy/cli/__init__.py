"""The command line: `curtsy`, also as `python -m curtsy`."""

from curtsy.cli.main import main

__all__ = ["main"]
