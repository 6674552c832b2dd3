"""``tf.gradients`` and what it stands on."""
