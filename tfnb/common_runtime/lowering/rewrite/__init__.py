"""Optimizations of an emitted function: clusters, sums, releases."""
