"""Figures of the running system: queue, throughput, workers, diagnosis."""
