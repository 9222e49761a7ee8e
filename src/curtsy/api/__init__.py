"""The HTTP API. A route parses, makes one call and serialises; only this package knows HTTP."""

from curtsy.api.app import create_app

__all__ = ["create_app"]
