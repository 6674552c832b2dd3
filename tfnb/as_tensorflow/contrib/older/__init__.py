"""Small parts of ``tf.contrib`` that keep earlier forms of functions of ``tf``."""
