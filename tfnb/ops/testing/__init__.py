"""Ops that exist for tests."""
