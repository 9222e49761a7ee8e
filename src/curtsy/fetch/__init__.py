"""Ask one URL once. Only this room speaks HTTP to strangers."""

from curtsy.fetch.fetcher import Fetcher, Limits, Request
from curtsy.fetch.guard import parse_networks
from curtsy.fetch.sending import TrustEnded

__all__ = ["Fetcher", "Limits", "Request", "TrustEnded", "parse_networks"]
