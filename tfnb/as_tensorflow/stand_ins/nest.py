"""``tensorflow.python.util.nest``: names of before TensorFlow 2."""

from tfnb.framework.structures.nest import is_nested

is_sequence = is_nested
