"""Gradients of gradients: TensorFlow's numbers, and the derivatives of the first ones.

``python -m tests.ops.second_gradients PYTHON --store`` asks TensorFlow again.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.ops.second_gradients import difference, stored
from tests.ops.test_numeric_gradients import calls_with_gradients, compared
from tfnb.core import op_registry

# Where the first gradient is not the derivative, or takes something for fixed that a step changes,
# the second cannot be that of the first; TensorFlow's are the same, which the other test says.
_BY_DESIGN = {
    "Cholesky": "knows that matrices are symmetric",
    "FusedBatchNormGrad": "knows that mean and variance are those of x",
    "FusedBatchNormGradV3": "knows that mean and variance are those of x",
    "ImageProjectiveTransformV2": "turns the gradient back as an image",
    "ImageProjectiveTransformV3": "turns the gradient back as an image",
    "MatrixSolveLs": "goes through a Cholesky decomposition",
    "MulNoNan": "lacks a conjugate",
    "SegmentProd": "counts the zeros and takes them for fixed",
    "SoftmaxCrossEntropyWithLogits": "takes no gradient from its second output to the labels",
    "Zeta": "has no gradient by its first input, which the first one contains",
}


@pytest.mark.slow
@pytest.mark.parametrize("op", sorted(stored()))
def test_second_gradients_equal_tensorflows(op: str) -> None:
    """By the inputs and by what comes into the first ones; or the error is of the same class."""
    for row, wanted in stored()[op]:
        found = difference(row, wanted)
        assert not found, f"{op}{row.attrs}: {found}"


def _twice_differentiable() -> list[str]:
    return sorted(
        op
        for op, answers in stored().items()
        if any(not isinstance(one, str) for _, wanted in answers for one in wanted)
    )


@pytest.mark.slow
@pytest.mark.repeats
@pytest.mark.parametrize("op", _twice_differentiable())
def test_a_second_gradient_is_the_derivative_of_the_first(op: str) -> None:
    """Along a random direction, where the gradient is smooth."""
    for row, _ in stored()[op]:
        with np.errstate(all="ignore"):
            found = compared(row, order=2)
        assert not found or op in _BY_DESIGN, f"{op}{row.attrs}: {found}"


def test_every_op_with_a_gradient_is_asked() -> None:
    """Those whose calls are all of two bytes apart."""
    able = {op for op in calls_with_gradients() if op_registry.get(op).gradient_function}
    assert able - set(stored()) <= {"NextAfter"}
