"""Sliding windows: convolution and pooling."""
