"""``tf.linalg``, clipping, sorting, random generators."""
