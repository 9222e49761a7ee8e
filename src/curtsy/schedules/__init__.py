"""Schedules: each slot of a rule fires once, with any number of schedulers, and has an outcome."""
