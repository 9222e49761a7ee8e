"""Options that several commands share, and what of a request they become."""
