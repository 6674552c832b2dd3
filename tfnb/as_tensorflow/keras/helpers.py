"""What mended modules of Keras call."""

from __future__ import annotations

import importlib
from functools import total_ordering
from typing import Any, NamedTuple

import numpy as np

from tfnb.client.public.api import tf


class ArgSpec(NamedTuple):
    """Arguments of a function, as ``inspect`` had them before Python 3.11."""

    args: Any
    varargs: Any
    keywords: Any
    defaults: Any


@total_ordering
class Version:
    """A version whose numbers are compared."""

    def __init__(self, version: str) -> None:
        self.version = tuple(int(one) for one in version.split("."))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Version) and self.version == other.version

    def __lt__(self, other: Version) -> bool:
        return self.version < other.version

    def __hash__(self) -> int:
        return hash(self.version)


class SecondName:
    """An attribute under another name, which an object may have for its own."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, value: Any, owner: type | None = None) -> Any:
        return self if value is None else getattr(value, self.name)


_SECOND_NAMES = {
    "variables": "weights",
    "trainable_variables": "trainable_weights",
    "non_trainable_variables": "non_trainable_weights",
    "apply": "__call__",
}


def give_second_names(layer: type) -> None:
    """Give Keras' class of layers the names that tf.keras has beside its own.

    Args:
      layer: the class ``Layer``.
    """
    for name, own in _SECOND_NAMES.items():
        if not hasattr(layer, name):
            setattr(layer, name, SecondName(own))


def text(value: bytes | str) -> str:
    """Return text that h5py gives as bytes or, since version 3, as text."""
    return value.decode("utf-8") if isinstance(value, bytes) else value


def attribute(value: Any) -> Any:
    """Return an attribute as h5py 2 writes it: a list of bytes has a fixed length."""
    if isinstance(value, list) and value and all(isinstance(one, bytes) for one in value):
        return np.asarray(value)
    return value


def device_of_scope(graph: Any) -> Any:
    """Return the device of the entered scopes as a DeviceSpec; None without a device."""
    device = graph.scopes().device
    return tf.DeviceSpec.from_string(device) if device else None


def name_of_backend(name: str) -> Any:
    """Return a name of Keras 2.3's backend that ``keras.backend`` leaves out.

    Raises:
      AttributeError: the backend does not have it.
    """
    module = "keras.backend.tensorflow_backend"
    found = None if name.startswith("__") else vars(importlib.import_module(module)).get(name)
    if found is None:
        raise AttributeError(f"module 'keras.backend' has no attribute {name!r}")
    return found
