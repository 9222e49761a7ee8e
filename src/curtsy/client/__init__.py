"""Talking to a curtsy API, wherever it runs."""

from curtsy.client.talk import Talk

__all__ = ["Talk"]
