"""Functions that share their variables between calls."""
