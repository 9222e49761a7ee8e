"""The queue: waiting visits, their order and their results. Workers lease sources, not pages.

Lock order everywhere: sources, pages (by host and fingerprint), visits, items, jobs (by id).
"""
