"""Compiled updates of rows give the bits of the plain ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tfnb as tf
from tfnb.core import op_registry
from tfnb.core.compiled.helper import HELPER
from tfnb.core.compiled.routines import without_routines
from tfnb.ops.state import compiled_row_updates

pytest.importorskip("llvmlite")
pytestmark = pytest.mark.usefixtures("kernels_at_once")

_FTRL = {"multiply_linear_by_lr": False}
_RULES: list[tuple[str, int, list[float], dict[str, Any], bool]] = [
    ("Adagrad", 2, [0.1], {"update_slots": True}, True),
    ("Adagrad", 2, [0.1], {"update_slots": False}, False),
    ("Ftrl", 3, [0.1, 0.2, 0.3, -0.5], _FTRL, True),
    ("Ftrl", 3, [0.1, 0.0, 0.0, -0.5], _FTRL, True),
    ("Ftrl", 3, [0.1, 0.2, 0.3, -0.6], _FTRL, False),
    ("Ftrl", 3, [0.1, 0.2, 0.3, -0.5], {"multiply_linear_by_lr": True}, False),
    ("Momentum", 2, [0.1, 0.9], {"use_nesterov": False}, True),
    ("Momentum", 2, [0.1, 0.9], {"use_nesterov": True}, False),
    ("RMSProp", 3, [0.1, 0.9, 0.5, 1e-8], {}, True),
]
_GRADIENTS = [([0, 4, 2], (6, 5)), ([1, 1, 3, 1], (4, 3, 7)), ([2], (3,))]


def _apply(
    rule: tuple[str, int, list[float], dict[str, Any]],
    grad: Any,
    indices: list[int],
    rows: int,
    is_ref: bool,
) -> list[Any]:
    """Return the variable and its slots after two steps."""
    name, num_slots, numbers, attrs = rule
    with tf.Graph().as_default(), tf.Session() as session:
        rng = np.random.default_rng(1)
        shape = (rows, *grad.shape[1:])
        cells: list[Any] = [
            tf.Variable(rng.random(shape).astype(grad.dtype), use_resource=not is_ref)
            for _ in range(num_slots)
        ]
        op: Any = op_registry.get(("SparseApply" if is_ref else "ResourceSparseApply") + name)
        names = [argument.name for argument in op.op_def.inputs]
        given: dict[str, Any] = {"grad": grad, "indices": np.array(indices, np.int32)}
        for argument, cell in zip(names, cells, strict=False):
            given[argument] = cell._ref() if is_ref else cell.handle
        others = [one for one in names[num_slots:] if one not in given]
        given |= {one: np.array(n, grad.dtype) for one, n in zip(others, numbers, strict=True)}
        step = op(**given, **attrs)
        session.run(tf.global_variables_initializer())
        for _ in range(2):
            session.run(step.op if is_ref else step)
        return list(session.run(cells))


@pytest.mark.parametrize(("indices", "shape"), _GRADIENTS)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("is_ref", [False, True])
@pytest.mark.parametrize("rule", _RULES)
def test_rows_have_the_bits_of_the_plain_way(
    rule: tuple[str, int, list[float], dict[str, Any], bool],
    is_ref: bool,
    dtype: str,
    indices: list[int],
    shape: tuple[int, ...],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Rows are named once or repeatedly, with NaN and infinity in gradients."""
    grad = np.random.default_rng(0).standard_normal((len(indices), *shape[1:])).astype(dtype)
    grad.reshape(-1)[1:2], grad.reshape(-1)[2:3] = np.nan, np.inf
    done: list[bool] = []
    update = compiled_row_updates.update

    def noted(*arguments: Any) -> bool:
        done.append(update(*arguments))
        return done[-1]

    monkeypatch.setattr(compiled_row_updates, "update", noted)
    with np.errstate(all="ignore"):
        _apply(rule[:4], grad, indices, shape[0], is_ref)
        HELPER.wait()
        done.clear()
        got = _apply(rule[:4], grad, indices, shape[0], is_ref)
        with without_routines():
            want = _apply(rule[:4], grad, indices, shape[0], is_ref)
    assert done[:2] == [rule[4] and dtype == "f4"] * 2
    for one, other in zip(got, want, strict=True):
        np.testing.assert_array_equal(one, other)


def test_limits_of_ftrl_that_are_not_finite() -> None:
    """A limit that is NaN does not count, and NaN passes limits."""
    linear = np.array([[1.0, np.nan, -3.0, np.inf]], np.float32)
    rows = [np.ones((1, 4), np.float32), np.ones((1, 4), np.float32), linear]
    numbers = [np.array(n, np.float32) for n in (0.1, np.nan, 0.0, -0.5)]
    grad, indices = np.ones((1, 4), np.float32), np.array([0])
    options = {"multiply_linear_by_lr": False, "is_sparse": True}
    copies = [one.copy() for one in rows]
    compiled_row_updates.update("Ftrl", copies, grad, indices, numbers, options)
    HELPER.wait()
    assert compiled_row_updates.update("Ftrl", rows, grad, indices, numbers, options)
    np.testing.assert_array_equal(rows[0], [[0.0, np.nan, 0.0, np.nan]])
