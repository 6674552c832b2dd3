"""``tf.distributions``: random variables that can be drawn from and asked for their densities."""
