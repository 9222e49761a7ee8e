"""Runs scrapers in child processes, so that a harmful page fails alone and harms nothing else."""

from curtsy.extract.pool import ExtractLimits, Pool

__all__ = ["ExtractLimits", "Pool"]
