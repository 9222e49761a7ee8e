"""Schedules: rules whose slots fire once, whoever keeps them, and what each slot came to."""
