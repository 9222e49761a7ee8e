"""Maintenance tasks: what curtsy does for itself on a schedule."""
