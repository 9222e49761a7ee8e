"""The contestants: each module runs in its own process."""
