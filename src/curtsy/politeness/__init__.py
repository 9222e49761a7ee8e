"""Pure rules for pacing requests and handling failures. Time and randomness are parameters."""
