"""Alerts: rules, their state, and the messages about each change."""
