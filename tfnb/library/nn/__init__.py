"""The functions of ``tf.nn``, and losses."""
