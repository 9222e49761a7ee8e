"""The practice site: a small web of many hosts on loopback, the same on every run.

Tests, `curtsy demo` and the benchmarks scrape the site, and its access log shows what they really
requested. `site.py` runs the site inside a program, `process.py` in its own process; `pages.py`
lists the pages that it serves, `truth.py` reads the log.
"""
