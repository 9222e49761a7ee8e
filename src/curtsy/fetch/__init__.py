"""Ask one URL once. Only this room speaks HTTP to strangers."""

from curtsy.fetch.fetcher import Fetcher, Limits, TrustEnded
from curtsy.fetch.guard import parse_networks
from curtsy.fetch.proxy import parse_proxy
from curtsy.fetch.request import Request

__all__ = ["Fetcher", "Limits", "Request", "TrustEnded", "parse_networks", "parse_proxy"]
