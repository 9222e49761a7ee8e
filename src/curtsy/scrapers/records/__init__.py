"""Records: what a scraper declares of them, and how its results become their fields."""
