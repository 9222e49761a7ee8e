"""Responses of the API as pydantic models, and the functions that build them from rows."""
