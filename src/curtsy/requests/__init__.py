"""Request bodies of every door, parsed into job requests and schedule specs; no web framework."""
