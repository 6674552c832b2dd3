"""The functions of ``tf.image``."""
