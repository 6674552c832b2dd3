"""Checks that numbers are numbers: CheckNumerics and what is built of it."""
