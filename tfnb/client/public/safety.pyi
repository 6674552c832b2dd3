# The names of tf.safety; written by scripts/generate_public_names.py.
# ruff: noqa
from typing import Any

from tfnb.client.safety import Allowance as Allowance
from tfnb.client.safety import allow as allow
from tfnb.client.safety import effects as effects
from tfnb.client.safety import limits as limits

NodeEffect: Any
