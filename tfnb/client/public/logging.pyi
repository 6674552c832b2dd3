# The names of tf.logging; written by scripts/generate_public_names.py.
# ruff: noqa
from typing import Any

from tfnb.client.tf_logging import TaskLevelStatusMessage as TaskLevelStatusMessage
from tfnb.client.tf_logging import debug as debug
from tfnb.client.tf_logging import error as error
from tfnb.client.tf_logging import fatal as fatal
from tfnb.client.tf_logging import flush as flush
from tfnb.client.tf_logging import get_verbosity as get_verbosity
from tfnb.client.tf_logging import info as info
from tfnb.client.tf_logging import log as log
from tfnb.client.tf_logging import log_every_n as log_every_n
from tfnb.client.tf_logging import log_first_n as log_first_n
from tfnb.client.tf_logging import log_if as log_if
from tfnb.client.tf_logging import set_verbosity as set_verbosity
from tfnb.client.tf_logging import vlog as vlog
from tfnb.client.tf_logging import warn as warn
from tfnb.client.tf_logging import warning as warning

DEBUG: Any
ERROR: Any
FATAL: Any
INFO: Any
WARN: Any
