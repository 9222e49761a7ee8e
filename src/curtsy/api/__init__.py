"""The HTTP doors. Endpoints parse, make one call, serialise; only here HTTP statuses are known."""

from curtsy.api.app import create_app

__all__ = ["create_app"]
