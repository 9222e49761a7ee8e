"""A worker leases sources and visits their pages, each source in its own lane."""

from curtsy.worker.worker import Worker, WorkerSettings

__all__ = ["Worker", "WorkerSettings"]
