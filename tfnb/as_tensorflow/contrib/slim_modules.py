"""Names of tf-slim, which is an extra."""

from __future__ import annotations

import importlib
from importlib.util import find_spec
from types import ModuleType
from typing import Any


def name_of_slim(part: str, name: str, places: tuple[str, ...]) -> Any:
    """Return a name that one of tf-slim's modules has.

    Args:
      part: of ``tf.contrib``, for errors.
      name: the name.
      places: tf-slim's modules, in the order in which they are asked.

    Raises:
      AttributeError: none of them has it, or ``import tensorflow`` is not served.
      ModuleNotFoundError: tf-slim is not installed.
    """
    if find_spec("tf_slim") is None:
        raise ModuleNotFoundError(
            f"tf.contrib.{part}.{name} comes from the package tf-slim; "
            "type pip install 'tfnb[contrib]'",
            name="tf_slim",
        )
    try:
        modules = [importlib.import_module(place) for place in places]
    except ModuleNotFoundError as error:
        if error.name != "tensorflow":
            raise
        raise AttributeError(
            f"tf.contrib.{part}.{name} comes from tf-slim, which imports TensorFlow: call "
            "tfnb.install_as_tensorflow() first"
        ) from None
    found = [getattr(module, name) for module in modules if hasattr(module, name)]
    if found:
        # The file arg_scope.py has a function of this name, which is meant.
        return next((one for one in found if not isinstance(one, ModuleType)), found[0])
    raise AttributeError(f"module 'tensorflow.contrib.{part}' has no attribute {name!r}")
