"""The functions of ``tf.sparse``."""
