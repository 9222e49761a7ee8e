"""Reads feeds and sitemaps: RSS, Atom, JSON Feed, sitemaps as XML and as text, robots.txt. Pure
functions of a fetched page: nothing here can fetch."""
