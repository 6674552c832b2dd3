"""Modules of TensorFlow for tests."""
