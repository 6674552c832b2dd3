"""``tf.estimator.tpu``: ``TPUEstimator`` on CPUs and GPUs."""
