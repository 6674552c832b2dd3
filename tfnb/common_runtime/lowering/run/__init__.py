"""Running emitted functions, and leaving them."""
