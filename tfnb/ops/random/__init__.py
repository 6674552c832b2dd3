"""Philox and what is drawn with it."""
