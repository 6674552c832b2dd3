"""``tf.Variable``, ``tf.get_variable``, initializers, freezing."""
