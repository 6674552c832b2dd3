"""``tf.lookup`` and the parsing of features."""
