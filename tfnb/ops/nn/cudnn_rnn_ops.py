"""cuDNN's recurrent networks: their signatures, shapes and gradients.

Graphs that contain them can be read, shown and differentiated. They have no kernels here, and
TensorFlow has none for a CPU: a step that needs one raises an error. Corresponds to
``cudnn_rnn_ops.cc``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.core.op_registry import OpDefinition, register_op
from tfnb.core.shape_inference import SCALAR_SHAPE, UNKNOWN_SHAPE, InferenceContext
from tfnb.core.tensor_shape import TensorShape

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import Gradients

_T = "T: {bfloat16, half, float, double}"
_MODES = (
    "rnn_mode: {'rnn_relu', 'rnn_tanh', 'lstm', 'gru'} = 'lstm'",
    "input_mode: {'linear_input', 'skip_input', 'auto_select'} = 'linear_input'",
    "direction: {'unidirectional', 'bidirectional'} = 'unidirectional'",
    "dropout: float = 0",
    "seed: int = 0",
    "seed2: int = 0",
)
_PROJECTED = "num_proj: int = 0"
_INPUTS = "input: T, input_h: T, input_c: T, params: T"
_OUTPUTS = "output: T, output_h: T, output_c: T"
_SIZES = "num_layers: int32, num_units: int32, input_size: int32"


# ------------------------------------------------------------------------------------------- shapes


def _run_shape(c: InferenceContext) -> list[TensorShape]:
    """Return the shapes of outputs, last state and last cell state; the others are unknown."""
    x, h = (c.with_rank(index, 3).dim_values for index in (0, 1))
    c.with_rank(3, 1)
    assert x is not None
    assert h is not None
    is_lstm = c.attr("rnn_mode") == "lstm"
    if is_lstm and c.op_def.name == "CudnnRNNV3":
        c.with_rank(2, 3)
    ways = 2 if c.attr("direction") == "bidirectional" else 1
    units = None if h[2] is None else h[2] * ways
    cell = c.inputs[1] if is_lstm else SCALAR_SHAPE
    found = [TensorShape([x[0], x[1], units]), c.inputs[1], cell]
    return found + [UNKNOWN_SHAPE] * (c.num_outputs - 3)


def _backprop_shape(c: InferenceContext) -> list[TensorShape]:
    return list(c.inputs[:4])


def _size_shape(c: InferenceContext) -> TensorShape:
    for index in range(3):
        c.with_rank(index, 0)
    return TensorShape([1])


def _params_shape(c: InferenceContext) -> TensorShape:
    return TensorShape([None])


def _canonical_shape(c: InferenceContext) -> list[TensorShape]:
    c.with_rank(3, 1)
    names = ("num_params", "num_params")
    if c.op_def.name.endswith("V2"):
        names = ("num_params_weights", "num_params_biases")
    weights, biases = (c.attr(name) for name in names)
    return [TensorShape([None, None])] * weights + [TensorShape([None])] * biases


# ------------------------------------------------------------------------------------------ the ops


def _without_kernel(
    name: str,
    signature: str,
    *attrs: str,
    shape: Callable[[InferenceContext], Any],
    stateful: bool = False,
) -> OpDefinition:
    definition: OpDefinition = register_op(
        name, signature, _T, *attrs, shape=shape, stateful=stateful
    )(None)
    return definition


_KEPT = "reserve_space: T"
_KEPT_ON_HOST = f"{_KEPT}, host_reserved: int8"
_LENGTHS = "sequence_lengths: int32"
_IS_TRAINING, _TIME_MAJOR = "is_training: bool = true", "time_major: bool = true"
_INCOMING = "output_backprop: T, output_h_backprop: T, output_c_backprop: T"
_BACKPROP = "input_backprop: T, input_h_backprop: T, input_c_backprop: T, params_backprop: T"

cudnn_rnn = _without_kernel(
    "CudnnRNN",
    f"{_INPUTS} -> {_OUTPUTS}, {_KEPT}",
    *_MODES,
    _IS_TRAINING,
    shape=_run_shape,
    stateful=True,
)
cudnn_rnn_v2 = _without_kernel(
    "CudnnRNNV2",
    f"{_INPUTS} -> {_OUTPUTS}, {_KEPT_ON_HOST}",
    *_MODES,
    _IS_TRAINING,
    shape=_run_shape,
    stateful=True,
)
cudnn_rnn_v3 = _without_kernel(
    "CudnnRNNV3",
    f"{_INPUTS}, {_LENGTHS} -> {_OUTPUTS}, {_KEPT_ON_HOST}",
    *_MODES,
    _PROJECTED,
    _IS_TRAINING,
    _TIME_MAJOR,
    shape=_run_shape,
    stateful=True,
)
cudnn_rnn_backprop = _without_kernel(
    "CudnnRNNBackprop",
    f"{_INPUTS}, {_OUTPUTS}, {_INCOMING}, {_KEPT} -> {_BACKPROP}",
    *_MODES,
    shape=_backprop_shape,
    stateful=True,
)
cudnn_rnn_backprop_v2 = _without_kernel(
    "CudnnRNNBackpropV2",
    f"{_INPUTS}, {_OUTPUTS}, {_INCOMING}, {_KEPT_ON_HOST} -> {_BACKPROP}",
    *_MODES,
    shape=_backprop_shape,
    stateful=True,
)
cudnn_rnn_backprop_v3 = _without_kernel(
    "CudnnRNNBackpropV3",
    f"{_INPUTS}, {_LENGTHS}, {_OUTPUTS}, {_INCOMING}, {_KEPT_ON_HOST} -> {_BACKPROP}",
    *_MODES,
    _PROJECTED,
    _TIME_MAJOR,
    shape=_backprop_shape,
    stateful=True,
)
_without_kernel(
    "CudnnRNNParamsSize",
    f"{_SIZES} -> params_size: S",
    "S: {int32, int64}",
    *_MODES,
    _PROJECTED,
    shape=_size_shape,
)
_without_kernel(
    "CudnnRNNCanonicalToParams",
    f"{_SIZES}, *weights: num_params * T, *biases: num_params * T -> params: T",
    "num_params: int >= 1",
    *_MODES,
    shape=_params_shape,
)
_without_kernel(
    "CudnnRNNCanonicalToParamsV2",
    f"{_SIZES}, *weights: num_params_weights * T, *biases: num_params_biases * T -> params: T",
    "num_params_weights: int >= 1",
    "num_params_biases: int >= 1",
    *_MODES,
    _PROJECTED,
    shape=_params_shape,
)
_without_kernel(
    "CudnnRNNParamsToCanonical",
    f"{_SIZES}, params: T -> *weights: num_params * T, *biases: num_params * T",
    "num_params: int >= 1",
    *_MODES,
    shape=_canonical_shape,
)
_without_kernel(
    "CudnnRNNParamsToCanonicalV2",
    f"{_SIZES}, params: T -> *weights: num_params_weights * T, *biases: num_params_biases * T",
    "num_params_weights: int >= 1",
    "num_params_biases: int >= 1",
    *_MODES,
    _PROJECTED,
    shape=_canonical_shape,
)


# ---------------------------------------------------------------------------------------- gradients

_SHARED = ("dropout", "seed", "seed2", "rnn_mode", "input_mode", "direction")


def _link(forward: OpDefinition, backward: OpDefinition, *more_attrs: str) -> None:
    """Register `backward` as the gradient of `forward`."""

    @forward.gradient
    def _(op: Operation, *grads: Tensor) -> Gradients:
        if not op.get_attr("is_training"):
            raise ValueError(
                f"To use {forward.name} in gradients, is_training must be set to True."
            )
        attrs = {name: op.get_attr(name) for name in (*_SHARED, *more_attrs)}
        found = backward(*op.inputs, *op.outputs[:3], *grads[:3], *op.outputs[3:], **attrs)
        return [*found, *[None] * (len(op.inputs) - 4)]


_link(cudnn_rnn, cudnn_rnn_backprop)
_link(cudnn_rnn_v2, cudnn_rnn_backprop_v2)
_link(cudnn_rnn_v3, cudnn_rnn_backprop_v3, "time_major", "num_proj")
