"""The practice site: a small web of many hosts on loopback, the same on every run.

Tests, the demonstration and the benchmarks crawl it, and its access log is the truth that they are
held against. `site.py` runs it inside a program, `process.py` as a process of its own; `pages.py`
has the table of what it serves, `truth.py` reads the log.
"""
