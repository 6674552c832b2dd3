"""``tf.gradients`` and its parts."""
