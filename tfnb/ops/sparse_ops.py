"""Sparse tensors: reshaping, joining, slicing, adding, multiplying."""
