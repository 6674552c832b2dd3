"""``tf.estimator``: models as functions that are trained, evaluated, used and exported."""
