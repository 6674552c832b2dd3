"""The converters of ops, one file per family."""
