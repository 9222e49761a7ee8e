"""Answers of the API as pydantic models, and how each is made from rows."""
