"""Rows of embedding matrices by id."""
