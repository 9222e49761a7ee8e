"""What runs in a process of its own; each module is one contestant."""
