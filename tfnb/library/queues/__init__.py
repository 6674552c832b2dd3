"""The public classes for ops that wait."""
