"""The form of tensors: making, joining, cutting, indexing, casting."""
