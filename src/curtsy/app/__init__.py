"""Processes composed from the rooms: an API, a worker, or both on one loop."""

from curtsy.app.opening import opened
from curtsy.app.processes import run_up, run_worker, serve_api

__all__ = ["opened", "run_up", "run_worker", "serve_api"]
