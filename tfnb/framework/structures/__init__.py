"""Structures of tensors: nested Python values, composite tensors and their TypeSpecs."""
