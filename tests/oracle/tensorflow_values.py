"""TensorFlow's values of the recorded expressions; run as a script, it records them anew."""

from __future__ import annotations

from functools import cache
from typing import Any

from tests.core import golden_values


@cache
def tensorflow_names() -> dict[str, Any]:
    """Return TensorFlow 1's objects for the names in expressions."""
    import tensorflow.compat.v1 as tf
    from tensorflow.core.framework import tensor_pb2
    from tensorflow.python.framework import device

    tf.disable_v2_behavior()
    names = golden_values.namespace("tensorflow.python.framework", tensor_pb2)
    names |= {name: value for name, value in vars(device).items() if name[0] != "_"}
    return names | {"make_ndarray": tf.make_ndarray, "DeviceSpec": tf.DeviceSpec}


def tensorflow_results(name: str) -> dict[str, str]:
    """Return TensorFlow's results of the expressions in one file."""
    return {
        expression: golden_values.result_of(expression, tensorflow_names())
        for expression in golden_values.recorded(name)
    }


if __name__ == "__main__":
    for file in golden_values.FILES:
        golden_values.record(file, tensorflow_results(file))
