"""Pages are read in child processes: whatever a page does to its reader, only that page fails."""

from curtsy.extract.pool import ExtractLimits, Pool

__all__ = ["ExtractLimits", "Pool"]
