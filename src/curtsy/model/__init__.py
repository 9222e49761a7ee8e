"""The words of the system as values: no input, no output, no clock."""
