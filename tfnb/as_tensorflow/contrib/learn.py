"""``tf.contrib.learn``: the modes of a model; estimators are refused."""

from __future__ import annotations

from typing import Any

from tfnb.as_tensorflow.missing_name import missing_name


class ModeKeys:
    """What a model is built for.

    Attributes:
      TRAIN: to be trained.
      EVAL: to be measured.
      INFER: to answer.
    """

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
    if name.startswith("__"):
        raise AttributeError(name)
    return missing_name("tf.contrib.learn", name, "use tf.train.MonitoredTrainingSession")
