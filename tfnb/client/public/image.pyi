# The names of tf.image; written by scripts/generate_public_names.py.
# ruff: noqa
from tfnb.ops.random_ops import random_crop as random_crop
