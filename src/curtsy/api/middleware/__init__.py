"""Middleware around every request: size limits, origin checks, strict JSON."""
