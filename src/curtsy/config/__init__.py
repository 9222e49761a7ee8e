"""Settings from environment variables and `curtsy.toml`, checked once at the start."""

from curtsy.config.conversions import milliseconds, whole_policy, worker_settings
from curtsy.config.loader import load
from curtsy.config.settings import Settings
from curtsy.config.sources_file import read_sources

__all__ = [
    "Settings",
    "load",
    "milliseconds",
    "read_sources",
    "whole_policy",
    "worker_settings",
]
