"""Activations, normalization, losses that are ops, and cells that are one op."""
