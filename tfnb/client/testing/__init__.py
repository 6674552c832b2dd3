"""``tf.test``: test cases, their assertions, benchmarks."""
