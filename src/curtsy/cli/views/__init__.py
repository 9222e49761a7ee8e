"""Views: how commands print jobs, schedules, sources and results."""
