"""Routes for operators: figures, alerts, reports, dead letters and upkeep."""
