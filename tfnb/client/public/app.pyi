# The names of tf.app; written by scripts/generate_public_names.py.
# ruff: noqa
from tfnb.client import flags as flags
from tfnb.client.app import run as run

__all__ = [
    "flags",
    "run",
]
