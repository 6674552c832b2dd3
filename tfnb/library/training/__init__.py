"""tf.train: optimizers, learning rates, averages, the global step."""
