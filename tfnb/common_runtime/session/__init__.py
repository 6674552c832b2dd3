"""A session and its signatures."""
