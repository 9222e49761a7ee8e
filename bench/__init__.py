"""Benchmarks: ours beside others' in the same run, on the same machine, on loopback.

The machines that run this are shared and noisy, so only ratios within one run count. Contestants
are processes of their own that take turns; the median of the rounds is what is compared.
"""
