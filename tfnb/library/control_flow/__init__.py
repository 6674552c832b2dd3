"""``tf.cond``, ``tf.while_loop``, TensorArray, assertions and checks."""
