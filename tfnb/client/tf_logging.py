"""``tf.logging``: Python's logging under TensorFlow's names; the logger's name is "tensorflow"."""

from __future__ import annotations

import logging as _logging
import threading
from functools import cache
from logging import DEBUG, ERROR, FATAL, INFO, WARN
from typing import Any

__all__ = ["DEBUG", "ERROR", "FATAL", "INFO", "WARN"]

_lock = threading.Lock()
_counts: dict[str, int] = {}  # guarded by _lock


@cache
def get_logger() -> _logging.Logger:
    """Return the logger behind these functions."""
    logger = _logging.getLogger("tensorflow")
    # As in TensorFlow, a program without a logging setup prints warnings on standard error.
    if not _logging.getLogger().handlers:
        handler = _logging.StreamHandler()
        handler.setFormatter(_logging.Formatter(_logging.BASIC_FORMAT))
        logger.addHandler(handler)
        logger.propagate = False
    if logger.level == _logging.NOTSET:
        logger.setLevel(WARN)
    return logger


def log(level: int, msg: Any, *args: Any, **kwargs: Any) -> None:
    """Log at a level."""
    get_logger().log(level, msg, *args, **kwargs)


def debug(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Log at level DEBUG."""
    get_logger().debug(msg, *args, **kwargs)


def info(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Log at level INFO."""
    get_logger().info(msg, *args, **kwargs)


def warning(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Log at level WARN."""
    get_logger().warning(msg, *args, **kwargs)


warn = warning


def error(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Log at level ERROR."""
    get_logger().error(msg, *args, **kwargs)


def fatal(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Log at level FATAL."""
    get_logger().fatal(msg, *args, **kwargs)


def vlog(level: int, msg: Any, *args: Any, **kwargs: Any) -> None:
    """Log at a level."""
    get_logger().log(level, msg, *args, **kwargs)


def log_if(level: int, msg: Any, condition: bool, *args: Any) -> None:
    """Log if a condition holds."""
    if condition:
        vlog(level, msg, *args)


def log_every_n(level: int, msg: Any, n: int, *args: Any) -> None:
    """Log the first and then every n-th of the calls with one message."""
    log_if(level, msg, _count(str(msg)) % n == 0, *args)


def log_first_n(level: int, msg: Any, n: int, *args: Any) -> None:
    """Log the first n of the calls with one message."""
    log_if(level, msg, _count(str(msg)) < n, *args)


def _count(key: str) -> int:
    """Return how often a message came before."""
    with _lock:
        count = _counts.get(key, 0)
        _counts[key] = count + 1
        return count


def TaskLevelStatusMessage(msg: Any) -> None:
    """Log the status of a task, at level ERROR."""
    error(msg)


def flush() -> None:
    """Write buffered messages."""
    for handler in get_logger().handlers:
        handler.flush()


def get_verbosity() -> int:
    """Return the lowest level that is logged."""
    return get_logger().getEffectiveLevel()


def set_verbosity(v: int) -> None:
    """Set the lowest level that is logged."""
    get_logger().setLevel(v)
