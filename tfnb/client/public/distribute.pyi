# The names of tf.distribute; written by scripts/generate_public_names.py.
# ruff: noqa
from tfnb.client.training.server import Server as Server
