"""Sessions of pages: their cookies, and the login before them."""
