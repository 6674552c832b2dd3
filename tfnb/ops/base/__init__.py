"""What every family of ops stands on: broadcasting, text of tensors, large arrays, waiting."""
