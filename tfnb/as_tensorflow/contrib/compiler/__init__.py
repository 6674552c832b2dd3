"""``tf.contrib.compiler``: what asks for XLA, which tfnb does not have."""
