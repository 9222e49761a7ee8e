"""Commands: one module per command or group of commands."""
