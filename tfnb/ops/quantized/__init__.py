"""Integers that stand for floats."""
