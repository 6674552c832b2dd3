"""``tf.distributions``: random variables with samples, densities and statistics."""
