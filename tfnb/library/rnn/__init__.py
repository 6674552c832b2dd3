"""Recurrent networks: cells, wrappers of cells, and the functions that run them over time."""
