"""``tf.contrib.learn``: the names of modes, and ``preprocessing``.

Its estimators became ``tf.estimator``.
"""

from __future__ import annotations

from typing import Any

from tfnb.as_tensorflow.contrib.learn import preprocessing as preprocessing
from tfnb.as_tensorflow.missing_name import missing_name


class ModeKeys:
    """What a model is built for."""

    TRAIN = "train"
    EVAL = "eval"
    INFER = "infer"

    @classmethod
    def validate(cls, key: str) -> None:
        """Check a mode.

        Args:
          key: the mode.

        Raises:
          ValueError: it is none.
        """
        if key not in (cls.TRAIN, cls.EVAL, cls.INFER):
            raise ValueError(f"Invalid mode {key}.")


def __getattr__(name: str) -> Any:
    if not name[0].isupper():
        raise AttributeError(f"module 'tensorflow.contrib.learn' has no attribute {name!r}")
    return missing_name("tensorflow.contrib.learn", name, "tf.estimator came in its place")
