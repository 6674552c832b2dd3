"""Update rules that write in place give the bits of the plain ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tfnb as tf
from tfnb.core import op_registry
from tfnb.core.compiled.helper import HELPER
from tfnb.core.compiled.routines import compiling_at_once
from tfnb.ops.base.large_arrays import plain_ways

_SIZES = [(3,), (0,), (7, 5), (3, 25_000)]
_OPTIONS: list[tuple[str, int, list[float], dict[str, Any]]] = [
    ("GradientDescent", 1, [0.1], {}),
    ("Momentum", 2, [0.1, 0.9], {"use_nesterov": False}),
    ("Momentum", 2, [0.1, 0.9], {"use_nesterov": True}),
    ("Adagrad", 2, [0.1], {"update_slots": True}),
    ("Adagrad", 2, [0.1], {"update_slots": False}),
    ("Adam", 3, [0.9, 0.99, 0.1, 0.9, 0.99, 1e-8], {"use_nesterov": False}),
    ("Adam", 3, [0.9, 0.99, 0.1, 0.9, 0.99, 1e-8], {"use_nesterov": True}),
    ("RMSProp", 3, [0.1, 0.9, 0.5, 1e-8], {}),
]


def _apply(
    name: str, num_slots: int, numbers: list[float], attrs: dict[str, Any], grad: Any, is_ref: bool
) -> list[Any]:
    """Return the variable and its slots after two steps."""
    with tf.Graph().as_default(), tf.Session() as session:
        rng = np.random.default_rng(1)
        cells = [
            tf.Variable(rng.random(grad.shape).astype(grad.dtype), use_resource=not is_ref)
            for _ in range(num_slots)
        ]
        op: Any = op_registry.get(("Apply" if is_ref else "ResourceApply") + name)
        names = [argument.name for argument in op.op_def.inputs]
        hyper = iter(numbers)
        given = {}
        for argument, cell in zip(names, cells, strict=False):
            given[argument] = cell._ref() if is_ref else cell.handle
        for argument in names[num_slots:]:
            is_gradient = argument in ("grad", "delta")
            given[argument] = grad if is_gradient else np.array(next(hyper), grad.dtype)
        step = op(**given, **attrs)
        session.run(tf.global_variables_initializer())
        for _ in range(2):
            session.run(step.op if is_ref else step)
        return list(session.run(cells))


@pytest.mark.parametrize("shape", _SIZES)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("is_ref", [False, True])
@pytest.mark.parametrize(("name", "num_slots", "numbers", "attrs"), _OPTIONS)
def test_written_over_or_replaced(
    name: str,
    num_slots: int,
    numbers: list[float],
    attrs: dict[str, Any],
    is_ref: bool,
    dtype: str,
    shape: tuple[int, ...],
) -> None:
    """Variables have all sizes, in one tile or many, with a NaN in a gradient."""
    grad = np.random.default_rng(0).standard_normal(shape).astype(dtype)
    grad.reshape(-1)[1:2], grad.reshape(-1)[2:3] = np.nan, np.inf
    got = _apply(name, num_slots, numbers, attrs, grad, is_ref)
    with plain_ways():
        want = _apply(name, num_slots, numbers, attrs, grad, is_ref)
    for one, other in zip(got, want, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_value_that_was_read_survives_an_update_in_place() -> None:
    """An update in place does not change a value that was fetched before."""
    with tf.Graph().as_default(), tf.Session() as session:
        variable = tf.Variable(np.zeros(40_000, "f4"), use_resource=True)
        step = tf.train.GradientDescentOptimizer(1.0).apply_gradients(
            [(tf.ones_like(variable), variable)]
        )
        session.run(tf.global_variables_initializer())
        before = session.run(variable)
        session.run(step)
        assert before.max() == 0
        assert session.run(variable).max() == -1


def test_a_gradient_that_is_the_variable_itself() -> None:
    """var -= 1 * var gives zero in all tiles."""
    with tf.Graph().as_default(), tf.Session() as session:
        variable = tf.Variable(np.ones(100_000, "f4"), use_resource=True)
        step = tf.train.GradientDescentOptimizer(1.0).apply_gradients(
            [(variable.read_value(), variable)]
        )
        session.run(tf.global_variables_initializer())
        session.run(step)
        assert not session.run(variable).any()


@pytest.mark.parametrize("shape", _SIZES)
@pytest.mark.parametrize(("name", "num_slots", "numbers", "attrs"), _OPTIONS)
def test_compiled_updates_have_the_same_bits(
    name: str,
    num_slots: int,
    numbers: list[float],
    attrs: dict[str, Any],
    shape: tuple[int, ...],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The routines of the rules, with a NaN and an infinity in a gradient."""
    pytest.importorskip("llvmlite")
    grad = np.random.default_rng(0).standard_normal(shape).astype("f4")
    grad.reshape(-1)[1:2], grad.reshape(-1)[2:3] = np.nan, np.inf
    with plain_ways():
        expected = _apply(name, num_slots, numbers, attrs, grad, True)
    monkeypatch.setenv("TFNB_COMPILED", "1")
    with compiling_at_once():
        for _ in range(2):
            found = _apply(name, num_slots, numbers, attrs, grad, True)
            HELPER.wait()
            for one, other in zip(found, expected, strict=True):
                np.testing.assert_array_equal(one, other)
