# The names of tf.testing; written by scripts/generate_public_names.py.
# ruff: noqa
from tfnb.client.testing.testing import TestCase as TestCase
from tfnb.client.testing.testing import reset_state as reset_state
from tfnb.ops.testing.test_only_ops import register_test_ops as register_test_ops
