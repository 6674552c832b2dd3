"""``tf.estimator.export``: the inputs and outputs of models that are exported."""
