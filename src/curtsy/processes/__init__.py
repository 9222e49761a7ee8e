"""The processes of curtsy: an API, a worker, a scheduler, or all three on one event loop.

Import the module you need: `worker` and `scheduler` load no web framework.
"""
