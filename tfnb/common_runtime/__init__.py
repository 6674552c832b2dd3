"""The runtime: sessions, placement, executors."""
