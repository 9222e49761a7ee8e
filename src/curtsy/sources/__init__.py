"""Sources as people read and write them: policies, listings, the file of sources."""
