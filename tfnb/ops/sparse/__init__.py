"""Sparse and ragged forms."""
