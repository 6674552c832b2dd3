"""Definitions used to build and to run graphs: dtypes, shapes, errors, registries, events."""
