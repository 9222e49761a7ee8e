"""The queue: what waits, whose turn it is, and what became of it. Sources are leased, not pages.

Lock order everywhere: sources, pages (by host and fingerprint), visits, items, jobs (by id).
"""
