"""The float type, the small number and the order of image dimensions that Keras uses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass
class _Settings:
    floatx: str = "float32"
    epsilon: float = 1e-7
    image_data_format: str = "channels_last"


_settings = _Settings()


def epsilon() -> float:
    """Return the number that keeps logarithms and quotients finite."""
    return _settings.epsilon


def set_epsilon(value: float) -> None:
    """Set the number that keeps logarithms and quotients finite."""
    _settings.epsilon = value


def floatx() -> str:
    """Return the name of the default float type."""
    return _settings.floatx


def set_floatx(value: str) -> None:
    """Set the default float type.

    Raises:
      ValueError: it is not float16, float32 or float64.
    """
    if value not in ("float16", "float32", "float64"):
        raise ValueError(f"Unknown floatx type: {value}")
    _settings.floatx = value


def cast_to_floatx(x: Any) -> Any:
    """Return an array of the default float type."""
    return np.asarray(x, dtype=_settings.floatx)


def image_data_format() -> str:
    """Return "channels_last" or "channels_first"."""
    return _settings.image_data_format


def set_image_data_format(data_format: str) -> None:
    """Set the order of image dimensions.

    Raises:
      ValueError: it is neither "channels_last" nor "channels_first".
    """
    if data_format not in ("channels_last", "channels_first"):
        raise ValueError(f"Unknown data_format: {data_format}")
    _settings.image_data_format = data_format
