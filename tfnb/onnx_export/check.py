"""Runs a written model in onnxruntime beside the TensorFlow graph, and compares the outputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import dtypes, errors
from tfnb.onnx_export.onnx_import import import_onnx

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tfnb.framework.tensor import Tensor

_USUAL_SIZE = 2


def example_inputs(inputs: Mapping[str, Any], seed: int = 0) -> dict[str, Any]:
    """Return an array for each input: normal numbers, small integers; unknown sizes are 2.

    Args:
      inputs: name -> something with a dtype and a shape.
      seed: the seed of the numbers.
    """
    random = np.random.default_rng(seed)
    found: dict[str, Any] = {}
    for name, one in inputs.items():
        shape = one.shape if hasattr(one, "shape") else one.get_shape()
        dims = shape.dim_values
        sizes = [_USUAL_SIZE if size is None else size for size in dims or ()]
        dtype = one.dtype.base_dtype
        if dtype == dtypes.string:
            found[name] = np.full(sizes, b"text", object)
        elif dtype.is_floating:
            found[name] = random.standard_normal(sizes).astype(dtype.numpy_dtype)
        else:
            found[name] = random.integers(0, 2, sizes).astype(dtype.numpy_dtype)
    return found


def run_in_onnxruntime(model: Any, feeds: Mapping[str, Any]) -> dict[str, Any]:
    """Return the outputs of a model.

    Args:
      model: the ``onnx.ModelProto``, its bytes, or the path of its file.
      feeds: name of an input -> its value.
    """
    runtime = import_onnx("onnxruntime")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    given = model if isinstance(model, str | bytes) else model.SerializeToString()
    session = runtime.InferenceSession(given, options, providers=["CPUExecutionProvider"])
    names = [one.name for one in session.get_outputs()]
    fed = {
        name: np.asarray(value).astype(str) if np.asarray(value).dtype == object else value
        for name, value in feeds.items()
    }
    return dict(zip(names, session.run(names, fed)))


def largest_differences(
    model: Any, sess: Any, inputs: Mapping[str, Tensor], outputs: Mapping[str, Tensor]
) -> dict[str, float]:
    """Return for each output the largest difference between TensorFlow's graph and the model.

    Args:
      model: as for :func:`run_in_onnxruntime`.
      sess: the session on the graph.
      inputs: name -> tensor.
      outputs: name -> tensor.

    Raises:
      InternalError: an output has another shape.
    """
    feeds = example_inputs(inputs)
    wanted = sess.run(list(outputs.values()), {inputs[name]: feeds[name] for name in inputs})
    got = run_in_onnxruntime(model, feeds)
    found = {}
    for name, one, other in zip(outputs, wanted, _in_order(got, outputs)):
        found[name] = difference(np.asarray(one), np.asarray(other), name)
    return found


def _in_order(got: Mapping[str, Any], outputs: Mapping[str, Tensor]) -> Sequence[Any]:
    return list(got.values()) if len(got) == len(outputs) else [got[name] for name in outputs]


def difference(one: np.ndarray[Any, Any], other: np.ndarray[Any, Any], name: str) -> float:
    """Return the largest absolute difference of two arrays; 0 where both are not numbers.

    Raises:
      InternalError: their shapes differ.
    """
    if one.shape != other.shape:
        raise errors.internal(
            f"The output {name} has shape {other.shape} in onnxruntime, not {one.shape}."
        )
    if one.dtype.kind in "OSU" or one.size == 0:
        same = [str(a, "utf-8") if isinstance(a, bytes) else a for a in one.reshape(-1)]
        return float(same != list(other.reshape(-1))) if one.size else 0.0
    a, b = one.astype(np.float64), other.astype(np.float64)
    with np.errstate(all="ignore"):
        apart = np.abs(a - b)
    is_same = (a == b) | (np.isnan(a) & np.isnan(b))
    return float(np.nan_to_num(np.where(is_same, 0.0, apart), nan=np.inf).max())
