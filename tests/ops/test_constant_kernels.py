"""A kernel made for constant shapes or axes gives the results and errors of the op's own kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tfnb as tf
import tfnb.ops.all_ops
from tests.joined import in_one_test
from tfnb.core import errors, op_registry

_MADE = {name: one for name, one in op_registry.all_ops().items() if one.constant_kernel}

_CUBE = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
_VALUES: list[Any] = [
    _CUBE,
    _CUBE.T,
    _CUBE.astype(np.float16),
    _CUBE.astype(np.int32)[:, :, 0],
    np.float32(3),
    np.zeros((0, 3), np.float32),
    np.zeros((2, 0, 4), np.float64),
    np.array([[np.nan, 1, -np.inf]], np.float64),
    np.arange(3, dtype=np.int64),
    np.array([b"a", b"b"], object),
]


def _ints(*numbers: int) -> Any:
    return np.array(numbers, np.int32)


_AXES = [
    _ints(),
    _ints(0),
    _ints(-1),
    _ints(0, 1),
    _ints(1, 1),
    _ints(5),
    np.int32(0),
    np.int64(-1),
]
_REDUCTIONS = [(axes, {"keep_dims": keep}) for axes in _AXES for keep in (False, True)]
_NO_MASKS = dict.fromkeys(
    ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"), 0
)
# The constants and attributes by op.
_CONSTANTS: dict[str, list[tuple[Any, dict[str, Any]]]] = {
    "Reshape": [
        (shape, {})
        for shape in (
            _ints(),
            _ints(1),
            _ints(-1),
            _ints(-1, 3),
            _ints(4, 6),
            _ints(0, -1),
            _ints(-1, 0),
            _ints(-1, -1),
            _ints(-2, 3),
            _ints(*[1] * 70),
            np.int32(24),
            _ints(2, 3, 2, 2).reshape(2, 2),
        )
    ],
    "ExpandDims": [(np.int32(axis), {}) for axis in (-9, -1, 0, 1, 3, 9)]
    + [(_ints(0), {}), (_ints(0, 1), {})],
    "Transpose": [
        (perm, {})
        for perm in (_ints(), _ints(0), _ints(1, 0), _ints(2, 0, 1), _ints(0, -1), _ints(0, 0))
    ]
    + [(np.int32(0), {}), (np.array([1, 2, 0]), {})],
    "Split": [
        (np.int32(axis), {"num_split": count}) for axis in (-9, -1, 0, 1, 2) for count in (1, 2, 3)
    ]
    + [(_ints(0), {"num_split": 2})],
    "StridedSlice": [
        ((begin, end, steps), _NO_MASKS | masks)
        for begin, end, steps in (
            (_ints(0), _ints(1), _ints(1)),
            (_ints(-1), _ints(0), _ints(-1)),
            (_ints(0, 0, 1), _ints(2, 3, 3), _ints(1, 2, 1)),
            (_ints(0), _ints(1), _ints(0)),
            (_ints(7), _ints(9), _ints(1)),
            (_ints(0), _ints(1, 2), _ints(1)),
            (np.int32(0), np.int32(1), np.int32(1)),
        )
        for masks in (
            {},
            {"shrink_axis_mask": 1},
            {"new_axis_mask": 1},
            {"ellipsis_mask": 1},
            {"begin_mask": 1, "end_mask": 1},
            {"shrink_axis_mask": 7},
        )
    ],
    "ConcatV2": [(np.int32(axis), {}) for axis in (-(2**31), -9, -1, 0, 1, 2, 9)]
    + [(_ints(0), {}), (_ints(0, 1), {})],
} | dict.fromkeys(("Sum", "Mean", "Prod", "Max", "Min"), _REDUCTIONS)


def _answer(function: Any, *args: Any, **attrs: Any) -> Any:
    try:
        with np.errstate(all="ignore"):
            found = function(*args, **attrs)
    except (errors.OpError, ValueError, TypeError) as error:
        # NumPy refuses dtypes that the op does not have in its own words.
        return type(error), str(error) if isinstance(error, errors.OpError) else ""
    parts = found if isinstance(found, tuple) else (found,)
    return [(str(np.asarray(one).dtype), np.shape(one), repr(np.asarray(one))) for one in parts]


@in_one_test("name", sorted(_MADE))
def test_a_kernel_for_constants_answers_as_the_ops_own(name: str) -> None:
    """Values of all ranks, empty ones, strings, and constants that are refused."""
    definition = _MADE[name]
    inputs = [one.name for one in definition.op_def.inputs]
    constant = definition.constant_kernel
    [place] = {inputs.index(one) - n for n, one in enumerate(constant.inputs)}
    num_made = 0
    for constants, attrs in _CONSTANTS[name]:
        given = list(constants) if isinstance(constants, tuple) else [constants]
        made = constant.make(*given, **attrs)
        if made is None:
            continue
        num_made += 1
        for value in _VALUES:
            values = [value, value] if name == "ConcatV2" else value
            args = [values]
            args[place:place] = given
            wanted = _answer(definition.function, np, *args, **attrs)
            for _ in range(2):  # the second call finds what the first one kept
                assert _answer(made, values) == wanted
    assert num_made


def test_a_step_uses_the_kernel_for_constants() -> None:
    """The emitted function has no call of the op's own kernel, and the same errors."""
    x = tf.placeholder(tf.float32, [None, None])
    y = tf.reshape(x, [3, 2], name="reshaped")
    with tf.Session() as sess:
        for _ in range(3):
            given = np.arange(6.0).reshape(2, 3)
            np.testing.assert_array_equal(sess.run(y, {x: given}), given.reshape(3, 2))
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"4 values.*has 6"):
            sess.run(y, {x: np.ones((2, 2))})
        np.testing.assert_array_equal(sess.run(y, {x: given}), given.reshape(3, 2))
