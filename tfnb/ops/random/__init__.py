"""Philox, and random numbers and distributions drawn with it."""
