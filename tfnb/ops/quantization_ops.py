"""Quantized numbers: to and from them, and training with their rounding."""
