"""Fetches one URL with one HTTP request. Only this package sends requests to other hosts."""

from curtsy.fetch.fetcher import Fetcher, Limits, TrustEnded
from curtsy.fetch.guard import parse_networks
from curtsy.fetch.proxy import parse_allowed_proxies, parse_proxy
from curtsy.fetch.request import Request

__all__ = ["Fetcher", "Limits", "Request", "TrustEnded", "parse_allowed_proxies", "parse_networks",
           "parse_proxy"]  # fmt: skip
