"""Keras 2, from its package, as ``keras`` and as ``tf.keras``."""
