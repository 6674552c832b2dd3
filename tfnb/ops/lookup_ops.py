"""Lookup tables: hash tables, mutable ones, and their initialization."""
