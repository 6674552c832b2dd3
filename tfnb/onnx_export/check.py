"""Runs a written model in onnxruntime beside the TensorFlow graph, and compares the outputs."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import dtypes, errors
from tfnb.onnx_export.onnx_import import import_onnx

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tfnb.client.model import Model
    from tfnb.client.model_tensor import ModelTensor

EXPORTS = {"onnx": ["check"]}

_USUAL_SIZE = 2


def example_inputs(inputs: Mapping[str, ModelTensor], seed: int = 0) -> dict[str, Any]:
    """Return an array for each input: normal numbers, small integers; unknown sizes are 2.

    Args:
      inputs: name -> input.
      seed: the seed of the numbers.
    """
    random = np.random.default_rng(seed)
    found: dict[str, Any] = {}
    for name, one in inputs.items():
        dims = one.shape.dim_values
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
    providers = ["CPUExecutionProvider"]
    session = runtime.InferenceSession(given, options, providers=providers)
    names = [one.name for one in session.get_outputs()]
    short = {one.name for one in session.get_outputs() if one.type == "tensor(bfloat16)"}
    if short:
        widened = _with_wide_outputs(given, short)
        session = runtime.InferenceSession(widened, options, providers=providers)
    fed = {
        name: np.asarray(value).astype(str) if np.asarray(value).dtype == object else value
        for name, value in feeds.items()
    }
    wanted = [f"{name}{_WIDE}" if name in short else name for name in names]
    found = dict(zip(names, session.run(wanted, fed)))
    return {
        name: value.astype(dtypes.bfloat16.numpy_dtype) if name in short else value
        for name, value in found.items()
    }


_WIDE = "/float32"


def _with_wide_outputs(model: str | bytes, names: set[str]) -> bytes:
    """Return a model with further outputs, as float32, for those that NumPy has no type for."""
    onnx = import_onnx()
    made = onnx.load(model) if isinstance(model, str) else onnx.load_from_string(model)
    wide = onnx.TensorProto.FLOAT
    for name in sorted(names):
        made.graph.node.append(onnx.helper.make_node("Cast", [name], [f"{name}{_WIDE}"], to=wide))
        made.graph.output.append(onnx.helper.make_tensor_value_info(f"{name}{_WIDE}", wide, None))
    found: bytes = made.SerializeToString()
    return found


def check(path: Any, model: Model, *, seed: int = 0) -> dict[str, float]:
    """Run a model and the ONNX model made of it on example inputs.

    Needs ``onnxruntime``.

    Args:
        path: The path of the ONNX file, or the ``onnx.ModelProto``.
        model: The model.
        seed: The seed of the example inputs.

    Returns:
        For each output, the largest absolute difference.

    Raises:
        InternalError: An output has another shape.
        UnimplementedError: ``onnxruntime`` is not installed.
    """
    import_onnx("onnxruntime")
    feeds = example_inputs(model.inputs, seed)
    wanted = model.run([feeds[key] for key in model.inputs])
    is_path = isinstance(path, str | os.PathLike)
    got = run_in_onnxruntime(os.fspath(path) if is_path else path, feeds)
    return {
        key: difference(np.asarray(one), np.asarray(other), key)
        for key, one, other in zip(model.outputs, wanted, got.values())
    }


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
