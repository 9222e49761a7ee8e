"""Reports as HTML pages: pure functions of a report, without scripts or external resources."""
