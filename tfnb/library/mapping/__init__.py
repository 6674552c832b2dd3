"""``tf.map_fn`` for composite tensors and ``tf.vectorized_map``."""
