"""What the rules watch, as it is now: each module reads the values of a few metrics."""
