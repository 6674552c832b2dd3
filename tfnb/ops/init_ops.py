"""Initializers: callables that make a variable's first value."""
