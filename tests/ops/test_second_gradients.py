"""Second gradients: TensorFlow's numbers, and the derivatives of the first ones.

``python -m tests.ops.second_gradients PYTHON --store`` stores TensorFlow's answers again.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.joined import in_batches
from tests.ops.second_gradients import difference, stored
from tests.ops.test_numeric_gradients import calls_with_gradients, compared
from tfnb.core import op_registry

# If the first gradient is not the derivative, or treats changing values as constants, the second is
# not its derivative either; TensorFlow's are equal, as the other test shows.
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


# Calls of an op beyond these are of other types, or further examples.
_FIRST = slice(2)
_OTHERS = slice(2, None)


@pytest.mark.slow
@in_batches("op", sorted(stored()), 4)
def test_second_gradients_equal_tensorflows(op: str) -> None:
    """Second gradients by inputs and by incoming gradients are equal, or the class of the error."""
    check_second_gradients(op, _FIRST)


@pytest.mark.slow
@pytest.mark.repeats
@in_batches("op", sorted(stored()))
def test_second_gradients_of_further_calls_equal_tensorflows(op: str) -> None:
    """The other stored calls of the op are compared in the same way."""
    check_second_gradients(op, _OTHERS)


def check_second_gradients(op: str, some: slice) -> None:
    """Check the second gradients of some stored calls."""
    for row, wanted in stored()[op][some]:
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
    """Smooth gradients are compared along a random direction."""
    for row, _ in stored()[op]:
        with np.errstate(all="ignore"):
            found = compared(row, order=2)
        assert not found or op in _BY_DESIGN, f"{op}{row.attrs}: {found}"


def test_every_op_with_a_gradient_is_asked() -> None:
    """Ops whose calls all have two-byte floats are left out."""
    able = {op for op in calls_with_gradients() if op_registry.get(op).gradient_function}
    assert able - set(stored()) <= {"NextAfter"}
