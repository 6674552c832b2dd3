"""``tf.contrib.learn.datasets``: data that is on this machine; nothing is downloaded."""

from __future__ import annotations

from typing import Any

from tfnb.as_tensorflow.contrib.learn.datasets import base as base
from tfnb.as_tensorflow.contrib.learn.datasets import mnist as mnist
from tfnb.as_tensorflow.contrib.learn.datasets.base import load_iris as load_iris


def load_dataset(name: str, size: str = "small", test_with_fake_data: bool = False) -> Any:
    """Return a data set by name.

    Args:
      name: "iris" or "mnist".
      size: without effect.
      test_with_fake_data: without effect.

    Raises:
      ValueError: there is none of that name.
    """
    if name == "iris":
        return load_iris()
    if name == "mnist":
        return mnist.load_mnist()
    raise ValueError(f"Name of dataset is not found: {name}. There are 'iris' and 'mnist'.")
