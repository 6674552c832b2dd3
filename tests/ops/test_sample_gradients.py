"""The gradients of every op of the samples are compared with TensorFlow's stored answers."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from tests.joined import in_batches
from tests.ops import samples
from tests.ops.golden import upstream_gradient
from tests.ops.kernel_runner import SampleRun
from tests.ops.test_samples import answer_of, assert_same, check_rows
from tfnb.client.session.session import Session
from tfnb.core import dtypes
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.graph import Graph
from tfnb.library.gradients.gradients import gradients
from tfnb.ops.array import array_ops
from tfnb.ops.math import math_ops

# Importing this gives tensors their operators.
assert math_ops


@cache
def _with_gradient() -> dict[str, list[tuple[str, samples.Sample]]]:
    """Return the rows of each op with stored gradients, with their families."""
    found: dict[str, list[tuple[str, samples.Sample]]] = {}
    for name in samples.families():
        for row in samples.family(name):
            answer = answer_of(name, row) if row.gradient else None
            if answer is None:
                continue
            # Other errors than "no gradient defined" are defects of TensorFlow.
            refused = answer.get("gradient_error", [""])[0] == "LookupError"
            if "gradients" in answer or refused:
                found.setdefault(row.op, []).append((name, row))
    return found


@in_batches("op", sorted(_with_gradient()), 4)
def test_gradients_equal_tensorflows(op: str) -> None:
    """tf.gradients of the outputs gives TensorFlow's numbers.

    And None where TensorFlow gives None.
    """
    check_rows(_with_gradient()[op], _check)


def _check(name: str, row: samples.Sample) -> None:
    answer = answer_of(name, row)
    assert answer is not None
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
        if "gradient_error" in answer:
            with pytest.raises(LookupError):
                gradients(outputs, sources, incoming)
            return
        found = gradients(outputs, sources, incoming)
        wanted = answer["gradients"]
        assert [w is None for w in wanted] == [f is None for f in found]
        dense = [convert_to_tensor(f) for f in found if f is not None]
        with Session(graph=graph) as session:
            values = session.run(dense, dict(zip(inputs, run.inputs, strict=True)))
    expected = [w for w in wanted if w is not None]
    for value, want in zip(values, expected, strict=True):
        assert_same(np.asarray(value), want, loosened(row), dtypes.as_dtype(want.dtype))


def loosened(row: samples.Sample) -> samples.Sample:
    """The row with tolerances for values that went through several ops."""
    two_bytes = any(word in row.types for word in ("half", "bfloat16", "float16"))
    rtol = 0.05 if two_bytes else max(row.rtol or 0.0, 1e-9 if "double" in row.types else 2e-5)
    return replace(row, exact=False, rtol=rtol, atol=row.atol or (0.05 if two_bytes else None))
