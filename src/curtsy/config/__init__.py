"""Settings: environment variables and `curtsy.toml`, checked once at the start."""

from curtsy.config.reading import load
from curtsy.config.settings import Settings
from curtsy.config.turning import milliseconds, worker_settings

__all__ = ["Settings", "load", "milliseconds", "worker_settings"]
