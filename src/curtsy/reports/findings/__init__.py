"""What is wrong with an installation, each with what to do: pure functions over what was read."""
