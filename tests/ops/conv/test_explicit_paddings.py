"""Explicit paddings of gradients, which shape functions do not check."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tfnb as tf

if TYPE_CHECKING:
    from collections.abc import Callable

R = tf.raw_ops
COMMON = {"strides": [1, 1, 1, 1], "padding": "EXPLICIT"}


def ones(*shape: int) -> Any:
    """Return an array of ones whose shape is not known before the step."""
    return tf.placeholder_with_default(np.ones(shape, np.float32), None)


USES: list[Callable[[list[int]], Any]] = [
    lambda pads: R.Conv2DBackpropFilter(
        input=ones(1, 4, 4, 1), filter_sizes=[2, 2, 1, 1], out_backprop=ones(1, 3, 3, 1),
        explicit_paddings=pads, **COMMON,
    ),
    lambda pads: R.Conv2DBackpropInput(
        input_sizes=[1, 4, 4, 1], filter=ones(2, 2, 1, 1), out_backprop=ones(1, 3, 3, 1),
        explicit_paddings=pads, **COMMON,
    ),
    lambda pads: R.MaxPoolGrad(
        orig_input=ones(1, 4, 4, 1), orig_output=ones(1, 3, 3, 1), grad=ones(1, 3, 3, 1),
        ksize=[1, 2, 2, 1], explicit_paddings=pads, **COMMON,
    ),
]  # fmt: skip


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize(
    ("pads", "says"),
    [
        ([1, 1], "must contain 8 values, but got: 2"),
        ([0] * 10, "must contain 8 values, but got: 10"),
        ([0, 0, -1, 0, 0, 0, 0, 0], "must be nonnegative"),
        ([0] * 8, None),
    ],
)
def test_other_lengths_and_negative_numbers_are_refused(
    use: Callable[[list[int]], Any], pads: list[int], says: str | None
) -> None:
    """With TensorFlow's texts."""
    with tf.Graph().as_default(), tf.Session() as session:
        found = use(pads)
        if says is None:
            session.run(found)
        else:
            with pytest.raises(tf.errors.InvalidArgumentError, match=says):
                session.run(found)
