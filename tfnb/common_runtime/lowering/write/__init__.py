"""The writers of a step's source."""
