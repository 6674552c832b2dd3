"""The vocabulary: one file a family, one place an op."""
