"""The terms of the domain as values and pure functions: no I/O, no clock."""
