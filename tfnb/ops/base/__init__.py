"""Foundations of all op families: broadcasting, text of tensors, large arrays, waiting."""
