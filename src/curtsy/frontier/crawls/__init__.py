"""Crawls: what their pages lead to, and what they remember of the feeds and sitemaps."""
