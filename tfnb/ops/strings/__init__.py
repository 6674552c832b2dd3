"""Bytes, text and regular expressions."""
