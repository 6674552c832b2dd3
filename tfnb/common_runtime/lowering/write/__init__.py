"""Writing the source of a step."""
