"""Talking to a curtsy API, wherever it runs."""

from curtsy.client.talk import Declined, Talk

__all__ = ["Declined", "Talk"]
