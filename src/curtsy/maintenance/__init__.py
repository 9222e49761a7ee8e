"""Maintenance tasks that curtsy runs on a schedule."""
