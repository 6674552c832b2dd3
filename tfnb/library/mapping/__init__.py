"""``tf.map_fn`` of parts and ``tf.vectorized_map``."""
