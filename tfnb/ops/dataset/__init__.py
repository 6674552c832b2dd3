"""Dataset variants and their iterators."""
