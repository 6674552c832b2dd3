"""Heads: predictions, loss and metrics of a model, from its logits."""
