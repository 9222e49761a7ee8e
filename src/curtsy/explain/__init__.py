"""Answers why something waits, when it may end, and what a job would cost. Reads only."""
