"""Modules that tests of TensorFlow import."""
