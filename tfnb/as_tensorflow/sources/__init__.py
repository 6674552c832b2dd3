"""Installed packages whose source is changed as it is loaded, and what of tf-slim is."""
