"""Compares tfnb's result of a call with TensorFlow's answer."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.ops import samples
from tests.ops.golden import upstream_gradient
from tests.ops.kernel_runner import SampleRun
from tests.ops.test_sample_gradients import loosened
from tests.ops.test_samples import assert_same
from tfnb.client.session.session import Session
from tfnb.common_runtime.executor.kernel_errors import annotate
from tfnb.core import dtypes, errors
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.graph import Graph
from tfnb.library.gradients.gradients import gradients
from tfnb.ops.array import array_ops

# Ops where the sign of zero is undefined: the larger of two zeros, sums and products of many
# numbers, and computations in another order.
_UNSIGNED_ZEROS = {
    "Relu", "Relu6", "FractionalMaxPool", "Xlogy", "Xlog1py", "Xdivy",
    "Cumsum", "AccumulateNV2",
    "AvgPool3D", "BatchMatMul", "BatchMatMulV2", "BatchMatMulV3", "MatrixTriangularSolve",
    "Einsum",
    "LRNGrad",
    "FusedBatchNormGrad", "FusedBatchNormGradV2", "FusedBatchNormGradV3",
    "CumulativeLogsumexp",
    "RsqrtGrad",
    "QuantizeAndDequantizeV2", "QuantizeAndDequantizeV3", "QuantizeAndDequantizeV4",
    "BiasAddGrad",
    "Maximum", "Minimum", "Max", "Min", "SegmentMax", "SegmentMin", "UnsortedSegmentMax",
    "UnsortedSegmentMin",
    "SparseSparseMaximum", "SparseSparseMinimum",
}  # fmt: skip


def differences(row: samples.Sample, answer: dict[str, Any]) -> list[str]:
    """Return the differences, one per line; each begins with its kind."""
    found: list[str] = []
    if "no_kernel" in answer:
        return found
    for kind, check in (
        ("shape", check_shapes),
        ("value", check_values),
        ("gradient", check_gradients),
    ):
        try:
            check(row, answer)
        except AssertionError as error:
            found.append(f"{kind}: {error}"[:600])
        except Exception as error:
            found.append(f"{kind}: raised {type(error).__name__}: {error}"[:600])
    return found


def check_values(row: samples.Sample, answer: dict[str, Any]) -> None:
    """Check outputs or the class of the error, and the values left in variables."""
    if "build_error_unknown" in answer:
        return
    if "error" in answer:
        wanted, message = answer["error"]
        found: Any = None
        text, cells = "", []
        try:
            failing = SampleRun(row)
            cells = failing.cells
            found = failing.run()
        except Exception as error:
            as_told = annotate(error, "op_under_test", row.op, "CPU:0", ())
            found, text = type(as_told).__name__, str(as_told)
        assert repr(found) == repr(wanted), (
            f"TensorFlow: {wanted} {message[:200]}; here: {found} {text}"
        )
        for cell, left in zip(cells, answer.get("variables", ())):
            assert_same(cell.value, left, row, cell.dtype)
        return
    run = SampleRun(row)
    outputs = run.run()
    assert len(answer["values"]) == len(outputs)
    for position, (found, wanted, dtype) in enumerate(
        zip(outputs, answer["values"], run.output_types, strict=True)
    ):
        if position not in row.undefined and wanted is not None:
            if row.op in _UNSIGNED_ZEROS:
                found, wanted = (np.where(v == 0, np.zeros_like(v), v) for v in (found, wanted))
            assert_same(found, wanted, row, dtype)
            check_zeros(found, wanted)
    for cell, wanted in zip(run.cells, answer["variables"], strict=True):
        assert_same(cell.value, wanted, row, cell.dtype)


def check_zeros(found: Any, wanted: Any) -> None:
    """Check the signs of zeros."""
    found = np.asarray(found)
    if found.dtype.kind in "OSUbiuc":
        return
    differ = (found == 0) & (wanted == 0) & (np.signbit(found) != np.signbit(wanted))
    assert not differ.any(), f"signs of zeros: {found[differ][:4]} here, {wanted[differ][:4]} there"


def check_shapes(row: samples.Sample, answer: dict[str, Any]) -> None:
    """Check static shapes."""
    if not row.shapes:
        return
    run = SampleRun(row)
    for mode in ("unknown", "known", "const"):
        refused = answer.get(f"build_error_{mode}")
        shapes: Any = None
        complaint = ""
        try:
            shapes = run.static_shapes(mode)
        except (ValueError, TypeError, errors.OpError) as error:
            complaint = f"{type(error).__name__} {error}"
        assert (refused is None) == (not complaint), (
            f"{mode}: TensorFlow {refused}; here {complaint or shapes}"
        )
        if complaint:
            continue
        if f"shapes_{mode}" in answer:
            wanted = answer[f"shapes_{mode}"]
            assert wanted == shapes, f"{mode}: TensorFlow {wanted}; here {shapes}"


def check_gradients(row: samples.Sample, answer: dict[str, Any]) -> None:
    """Check that tf.gradients gives TensorFlow's numbers, and None where TensorFlow does."""
    refused = answer.get("gradient_error", [""])[0] == "LookupError"
    if not row.gradient or not ("gradients" in answer or refused):
        return
    run = SampleRun(row)
    with Graph().as_default() as graph:
        inputs = [
            array_ops.placeholder(dtype, value.shape)
            for value, dtype in zip(run.inputs, run.input_types, strict=True)
        ]
        op = graph.create_op(row.op, inputs, name="op_under_test", attrs=run.attrs)
        outputs = [t for t in op.outputs if t.dtype.is_floating or t.dtype.is_complex]
        sources = [t for t in inputs if t.dtype.is_floating or t.dtype.is_complex]
        incoming = [
            convert_to_tensor(upstream_gradient(answer["values"][t.value_index], t.value_index))
            for t in outputs
        ]
        try:
            made = gradients(outputs, sources, incoming)
        except LookupError:
            assert refused, "no gradient here"
            return
        assert not refused, "TensorFlow has no gradient"
        wanted = answer["gradients"]
        assert [w is None for w in wanted] == [f is None for f in made], "None differs"
        dense = [convert_to_tensor(f) for f in made if f is not None]
        with Session(graph=graph) as session:
            values = session.run(dense, dict(zip(inputs, run.inputs, strict=True)))
    expected = [w for w in wanted if w is not None]
    two_bytes = any(w.dtype.itemsize == 2 for w in expected)
    loose = loosened(samples.replace(row, types="half" if two_bytes else row.types))
    for value, want in zip(values, expected, strict=True):
        assert_same(np.asarray(value), want, loose, dtypes.as_dtype(want.dtype))
