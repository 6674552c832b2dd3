"""Matrices: einsum, decompositions, solving."""
