"""Modules of TensorFlow for models on several devices."""
