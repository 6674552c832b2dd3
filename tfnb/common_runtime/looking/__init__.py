"""What observers and debuggers read of a step."""
