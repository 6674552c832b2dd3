"""tf.layers: functions and classes that make their variables with ``tf.get_variable``."""
