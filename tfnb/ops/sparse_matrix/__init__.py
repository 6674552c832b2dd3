"""Matrices in compressed sparse rows."""
