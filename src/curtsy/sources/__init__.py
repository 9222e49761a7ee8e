"""Sources as users read and write them: policies, listings, the declared file."""
