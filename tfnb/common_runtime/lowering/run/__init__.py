"""Running and leaving of emitted functions."""
