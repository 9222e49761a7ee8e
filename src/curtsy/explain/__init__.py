"""Explains why work waits, when it is expected to end and what a job would cost. Reads only."""
