"""Processes composed from the rooms: an API, a worker, a scheduler, or all on one loop."""

from curtsy.app.local import local_api, whole_engine
from curtsy.app.now import do_now
from curtsy.app.opening import opened
from curtsy.app.presence import who_is_up
from curtsy.app.processes import run_scheduler, run_up, run_worker, serve_api
from curtsy.app.stopping import Stop
from curtsy.app.trying import try_page

__all__ = [
    "Stop",
    "do_now",
    "local_api",
    "opened",
    "run_scheduler",
    "run_up",
    "run_worker",
    "serve_api",
    "try_page",
    "who_is_up",
    "whole_engine",
]
