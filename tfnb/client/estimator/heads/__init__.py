"""Heads: what a model predicts from its logits, with loss and metrics."""
