"""Figures of a running system: queue, throughput, workers, diagnosis."""
