# The names of tf.app; written by scripts/generate_public_names.py.
# ruff: noqa
from tfnb.client.flags.app import run as run
from tfnb.client.public import flags as flags
