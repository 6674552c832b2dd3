"""Every gradient is the derivative: it is compared with differences of values.

The calls are those of the samples and the stored random calls, in float64 if the op supports it. A
call counts if the function is smooth there: two steps of different length along a random direction
must agree. For a complex result, the real part of its product with the conjugate of the incoming
gradient is differentiated, as TensorFlow's gradients do.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.joined import in_batches
from tests.ops import samples
from tests.ops.golden import upstream_gradient
from tests.ops.kernel_runner import SampleRun
from tests.ops.samples import op as call
from tests.ops.samples import uniform
from tests.ops.stored_calls import PATH, decode, stored_calls
from tests.ops.test_samples import answer_of
from tfnb.client.session.session import Session
from tfnb.core import errors, op_registry
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.graph import Graph
from tfnb.library.gradients.gradients import gradients
from tfnb.ops.array import array_ops
from tfnb.ops.math import math_ops
from tfnb.ops.math.complex_ops import real
from tfnb.ops.math.cwise_unary_ops import conj
from tfnb.ops.math.reduction_ops import reduce_sum

if TYPE_CHECKING:
    from tests.ops.samples import Sample

# Importing this gives tensors their operators.
assert math_ops

# Gradients that are not derivatives by design, as in TensorFlow.
_BY_DESIGN = {
    "FakeQuantWithMinMaxArgs": "passes through what is rounded",
    "FakeQuantWithMinMaxVars": "passes through what is rounded",
    "FakeQuantWithMinMaxVarsPerChannel": "passes through what is rounded",
    "QuantizeAndDequantizeV2": "passes through what is rounded",
    "QuantizeAndDequantizeV3": "passes through what is rounded",
    "QuantizeAndDequantizeV4": "passes through what is rounded",
    "StatelessParameterizedTruncatedNormal": "draws anew; what is drawn is not followed",
    "StopGradient": "stops",
    "BlockLSTM": "takes the gradients of the states and outputs only, not those of the gates",
    "BlockLSTMV2": "takes the gradients of the states and outputs only, not those of the gates",
    "CTCLoss": "takes the gradient of the loss only, not that of its own second output",
    "Cholesky": "knows that matrices are symmetric, which a step aside is not",
    "FusedBatchNormGrad": "knows that mean and variance are those of x",
    "FusedBatchNormGradV3": "knows that mean and variance are those of x",
    "ImageProjectiveTransformV2": "turns the gradient back as an image",
    "ImageProjectiveTransformV3": "turns the gradient back as an image",
    "MaxPool3DGrad": "needs the maxima of the very volume, which a step aside changes",
    "SoftmaxCrossEntropyWithLogits": "takes no gradient from its second output to the labels",
}
# TensorFlow's gradients of these lack a conjugate; so do ours, which equal them.
_WRONG_FOR_COMPLEX = frozenset(
    [
        "EuclideanNorm", "LogMatrixDeterminant", "MatrixDeterminant", "MatrixSquareRoot", "Sign",
        "SquaredDifference", "TridiagonalSolve", "UnsortedSegmentProd", "Xlog1py", "Xlogy",
    ]
)  # fmt: skip
# If windows leave gaps, TensorFlow's values of volumes begin at another place than its gradients.
_NO_GAPS = frozenset(["AvgPool3D", "Conv3D", "Conv3DBackpropInputV2", "Conv3DBackpropFilterV2"])
# Where x is 0 these and their gradients are 0 for any y.
_NOT_AT_ZERO = frozenset(["Xdivy", "Xlog1py", "Xlogy"])
# The number of first inputs that only determine the places of maxima, which a step would change.
_SAY_WHERE = {"MaxPoolGradGrad": 2, "MaxPool3DGradGrad": 2}
_MOST_CALLS = 5
# For ops whose other calls are all at edges, or outside of the domain.
_OWN = [
    call("DynamicPartition", uniform(4, 2), np.array([1, 0, 0, 1], np.int32), num_partitions=2),
    call("Erfinv", uniform(2, 3, low=-0.8, high=0.8)),
    call("FloorMod", np.array([7.3, -5.2, 0.7]), np.array([2.0, 3.0, -0.4])),
    call("Ndtri", uniform(2, 3, low=0.1, high=0.9)),
    call("RGBToHSV", np.array([[0.1, 0.5, 0.9], [0.8, 0.3, 0.45]], np.float32)),
]


@cache
def calls_with_gradients() -> dict[str, list[Sample]]:
    """Return calls with gradients by op, with a limit for each."""
    found: dict[str, list[Sample]] = {row.op: [row] for row in _OWN}
    for family in samples.families():
        for row in samples.family(family):
            answer = answer_of(family, row) if row.gradient else None
            if answer is not None and _has_gradients(answer):
                found.setdefault(row.op, []).append(row)
    stored = stored_calls(PATH)
    for key in stored.index:
        op = key.rsplit("-", 1)[0]
        if len(found.get(op, ())) >= 3 * _MOST_CALLS:
            continue
        entry = stored.get(key)
        assert entry is not None
        row = decode(entry["call"])
        if row.gradient and _has_gradients(entry["answer"]):
            found.setdefault(op, []).append(row)
    return {op: rows for op, rows in found.items() if op_registry.get(op).gradient_function}


def _has_gradients(answer: dict[str, Any]) -> bool:
    return any(np.size(one) for one in answer.get("gradients", ()) if one is not None)


def _widened(row: Sample) -> Sample:
    """Return the call in float64."""

    def one(entry: Any) -> Any:
        if isinstance(entry, list):
            return [one(item) for item in entry]
        is_float = isinstance(entry, np.ndarray) and entry.dtype.name in words
        return entry.astype(words[entry.dtype.name]) if is_float else entry

    words = dict.fromkeys(("float32", "float", "half", "float16", "bfloat16"), "float64")
    words["complex64"] = "complex128"
    attrs = {k: words.get(v, v) if isinstance(v, str) else v for k, v in row.attrs.items()}
    return replace(row, inputs=tuple(one(entry) for entry in row.inputs), attrs=attrs, types="")


class Slope:
    """The derivative of one call's weighted outputs, by gradients and by differences.

    In order 2 the gradients are the outputs, and are differentiated by the incoming gradients, too.
    """

    def __init__(self, row: Sample, order: int = 1) -> None:
        run = SampleRun(row)
        outputs = run.run()
        if not isinstance(outputs, list | tuple):
            raise TypeError(f"the call fails: {outputs}")
        with Graph().as_default() as self.graph:
            inputs = [
                array_ops.placeholder(dtype, np.shape(value))
                for value, dtype in zip(run.inputs, run.input_types, strict=True)
            ]
            self.feeds = dict(zip(inputs, run.inputs, strict=True))
            op = self.graph.create_op(row.op, inputs, attrs=run.attrs)
            results = [t for t in op.outputs if t.dtype.is_floating or t.dtype.is_complex]
            values = [outputs[t.value_index] for t in results]
            self.held = inputs[: _SAY_WHERE.get(row.op, 0)]
            self.sources = [t for t in inputs if t.dtype.is_floating or t.dtype.is_complex]
            for _ in range(order - 1):
                results, values = self._differentiated(results, values)
            weights = [
                convert_to_tensor(upstream_gradient(value, position))
                for position, value in enumerate(values)
            ]
            self.grads = gradients(results, self.sources, weights)
            self.loss = [
                reduce_sum(real(t * conj(w))) if t.dtype.is_complex else reduce_sum(t * w)
                for t, w, value in zip(results, weights, values, strict=True)
                # Vectors that Svd does not compute are scalars, with a static shape of [0].
                if t.shape.rank in (None, np.ndim(value))
            ]
            self.dense = [None if g is None else convert_to_tensor(g) for g in self.grads]
        sizes = [t.dtype.real_dtype.size for t in [*results, *self.sources]]
        if min(sizes) < 4:
            raise TypeError("two bytes tell nothing of slopes")
        self.is_wide = min(sizes) == 8

    def _differentiated(self, results: list[Any], values: list[Any]) -> tuple[list[Any], list[Any]]:
        """Return the gradients and their values; incoming gradients are sources of their own."""
        incoming = [
            array_ops.placeholder(t.dtype, np.shape(v))
            for t, v in zip(results, values, strict=True)
        ]
        for position, (tensor, value) in enumerate(zip(incoming, values, strict=True)):
            self.feeds[tensor] = upstream_gradient(value, position)
        made = [g for g in gradients(results, self.sources, incoming) if g is not None]
        found = [convert_to_tensor(one) for one in made]
        if not found:
            raise LookupError("nothing is passed back")
        self.sources = [*self.sources, *incoming]
        with Session(graph=self.graph) as session:
            return found, session.run(found, self.feeds)

    def values(self) -> list[Any]:
        """Return the gradients by the inputs; None where there is none."""
        with Session(graph=self.graph) as session:
            found = iter(session.run([d for d in self.dense if d is not None], self.feeds))
            return [None if d is None else np.asarray(next(found)) for d in self.dense]

    def compare(self) -> str | None:
        """Return the error, "" without one, or None where the function is not smooth."""
        feeds = self.feeds
        moved = [
            source
            for source, grad in zip(self.sources, self.grads, strict=True)
            if grad is not None and np.isfinite(feeds[source]).all() and source not in self.held
        ]
        if not moved:
            return None
        random = np.random.RandomState(5)
        ways = {}
        for source in moved:
            ways[source] = random.normal(size=np.shape(feeds[source]))
            if source.dtype.is_complex:
                ways[source] = ways[source] + 1j * random.normal(size=np.shape(feeds[source]))
        with Session(graph=self.graph) as session:
            slope = 0.0
            for source, value in zip(self.sources, self.values(), strict=True):
                if source in ways:
                    product = np.conj(np.asarray(value, np.complex128)) * ways[source]
                    slope += float(np.sum(product.real))

            def loss(step: float) -> float:
                near = dict(feeds)
                for source, way in ways.items():
                    near[source] = (feeds[source] + step * way).astype(feeds[source].dtype)
                return float(sum(np.float64(part) for part in session.run(self.loss, near)))

            step = 1e-5 if self.is_wide else 3e-3
            numeric = [(loss(h) - loss(-h)) / (2 * h) for h in (step, step / 3)]
            middle = loss(0.0)
            sides = [(loss(h) - middle) / h for h in (step, -step)]
        size = max(abs(slope), abs(numeric[0]), 1.0)
        loose = 1e-5 if self.is_wide else 2e-2
        if not np.isfinite([*numeric, slope]).all():
            return None
        # At an edge the slopes of both sides differ for any step.
        if max(abs(numeric[0] - numeric[1]), 0.03 * abs(sides[0] - sides[1])) > loose * size:
            return None
        return "" if abs(slope - numeric[0]) <= 3 * loose * size else f"{slope}, not {numeric[0]}"


def _is_apart(row: Sample) -> bool:
    """Return whether the gradient of this call is known not to be a derivative."""
    if row.op in _NOT_AT_ZERO and not np.all(row.inputs[0]):
        return True
    if row.op in _NO_GAPS and max(row.attrs.get("strides", [1])) > 2:
        return True
    is_complex = any(getattr(entry, "dtype", np.dtype("f")).kind == "c" for entry in row.inputs)
    return is_complex and row.op in _WRONG_FOR_COMPLEX


def compared(row: Sample, order: int = 1) -> str | None:
    """Return the error, "" without one, or None where the call is not usable."""
    if _is_apart(row):
        return None
    for one in (_widened(row), row):
        try:
            slope = Slope(one, order)
        except (TypeError, ValueError, KeyError, LookupError, NotImplementedError, errors.OpError):
            continue  # not in float64, or not at all
        try:
            return slope.compare()
        except errors.OpError:
            return None  # nothing is there a step aside
    return None


def names() -> list[str]:
    """Return ops that have calls with gradients."""
    return sorted(calls_with_gradients())


@pytest.mark.slow
@in_batches("op", names())
def test_a_gradient_is_the_derivative(op: str) -> None:
    """Smooth functions are compared along a random direction."""
    check_gradient(op, 2)


@pytest.mark.slow
@pytest.mark.repeats
@in_batches("op", names())
def test_gradients_of_more_calls_are_derivatives(op: str) -> None:
    """Other calls of the same ops are compared in the same way."""
    check_gradient(op, _MOST_CALLS)


def check_gradient(op: str, most: int) -> None:
    """Check the gradients of the first calls that can be compared."""
    done = 0
    for row in calls_with_gradients()[op]:
        with np.errstate(all="ignore"):  # beyond where a function is defined
            found = compared(row)
        if found is None:
            continue
        done += 1
        if op in _BY_DESIGN:
            continue
        assert not found, f"{op}{row.attrs}: {found}"
        if done >= most:
            break
    assert done or op in _BY_DESIGN, (
        f"none of {len(calls_with_gradients()[op])} calls of {op} can be compared"
    )
