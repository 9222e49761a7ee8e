"""Request bodies of every door, and the job requests and schedule specs they become. Imports no web
framework."""
