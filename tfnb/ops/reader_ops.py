"""Readers: records of files, one key and value at a time."""
