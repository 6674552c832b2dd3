"""Activations, normalisation, losses that are ops, and cells that are one op."""
