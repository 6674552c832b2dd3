"""Hash tables."""
