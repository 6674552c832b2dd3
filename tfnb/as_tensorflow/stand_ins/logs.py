"""``tensorflow.python.platform.tf_logging``: shorthands of its levels."""

import logging as _logging

_get_logger = _logging.getLogger
