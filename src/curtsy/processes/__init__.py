"""Processes composed from the rooms: an API, a worker, a scheduler, or all on one loop."""

from curtsy.processes.local_api import local_api, whole_engine
from curtsy.processes.lock_file import who_is_up
from curtsy.processes.processes import run_scheduler, run_up, run_worker, serve_api
from curtsy.processes.signals import Stop
from curtsy.processes.startup import opened
from curtsy.processes.task_now import do_now
from curtsy.processes.trial import try_page

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
