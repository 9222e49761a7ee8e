"""Routes: one module per resource. A route parses, makes one call and serialises."""
