"""Previews of the schedules: a simulation with the rules that fire slots and pace sources."""
