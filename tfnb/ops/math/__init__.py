"""Arithmetic element by element, reductions, segments and products."""
