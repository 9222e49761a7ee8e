"""Looking after a running system: what there is, who works on it, what is wrong."""
