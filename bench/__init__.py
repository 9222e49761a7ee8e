"""Benchmarks: curtsy and other programs in the same run, on the same machine, on loopback.

The machines are shared and noisy, so only ratios within one run count. Each contestant is its own
process; contestants take turns, and the medians of the rounds are compared.
"""
