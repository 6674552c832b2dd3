"""Canned estimators: models over feature columns."""
