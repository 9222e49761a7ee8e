"""Processes composed from the rooms: an API, a worker, a scheduler, or all in one loop.

Import the module you need: `worker` and `scheduler` load no web framework.
"""
