"""What runs: sessions, placement, executors."""
