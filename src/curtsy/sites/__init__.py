"""Sites: declarations, runs, and the records that runs find."""
