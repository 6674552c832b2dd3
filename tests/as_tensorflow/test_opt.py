"""`tf.contrib.opt`: steps against their formulas in NumPy."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.usefixtures("as_tensorflow")

_START = np.float32([[1, -2], [3, 0.5], [-1, 4]])
_GRADIENTS = [
    np.float32([[0.3, -1], [0.2, 0.5], [-0.6, 1]]),
    np.float32([[1, 1], [-1, 0.1], [2, 1]]),
]
_ROWS = [2, 0]


@pytest.fixture
def tf() -> Any:
    """Return TensorFlow as a program gets it, with a graph of the test's own as the default."""
    tf = importlib.import_module("tensorflow")
    with tf.Graph().as_default():
        yield tf


def _stepped(tf: Any, optimizer: Any, resource: bool, rows: list[int] | None = None) -> Any:
    """Return a variable after two steps."""
    variable = tf.get_variable("weights", initializer=tf.constant(_START), use_resource=resource)
    given = tf.placeholder(tf.float32, [None, 2])
    gradient = given if rows is None else tf.IndexedSlices(given, tf.constant(rows), [3, 2])
    train = optimizer.apply_gradients([(gradient, variable)])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for one in _GRADIENTS:
            session.run(train, {given: one if rows is None else one[rows]})
        return session.run(variable)


def _adam(w: Any, slots: list[Any], g: Any, step: int, nesterov: bool = False) -> Any:
    m, v = slots
    m[:], v[:] = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g * g
    rate = 0.1 * np.sqrt(1 - 0.99**step) / (1 - 0.9**step)
    ahead = 0.9 * m + 0.1 * g if nesterov else m
    return w - rate * ahead / (np.sqrt(v) + 1e-8)


def _adamax(w: Any, slots: list[Any], g: Any, step: int) -> Any:
    m, v = slots
    m[:], v[:] = 0.9 * m + 0.1 * g, np.maximum(0.99 * v, np.abs(g))
    return w - 0.1 / (1 - 0.9**step) * m / (v + 1e-8)


def _sign(power: bool) -> Callable[..., Any]:
    def rule(w: Any, slots: list[Any], g: Any, step: int) -> Any:
        m = slots[0]
        m[:] = 0.9 * m + 0.1 * g
        agreement = np.sign(m) * np.sign(g)
        return w - 0.1 * g * (np.exp(agreement) if power else 1 + agreement)

    return rule


def _lars(w: Any, slots: list[Any], g: Any, step: int) -> Any:
    norm = np.linalg.norm(w)
    rate = 0.1 * 0.001 * norm / (np.linalg.norm(g) + 0.0001 * norm)
    slots[0][:] = 0.9 * slots[0] + rate * (g + 0.0001 * w)
    return w - slots[0]


def _decayed(rule: Callable[..., Any]) -> Callable[..., Any]:
    return lambda w, slots, g, step: rule(w * (1 - 0.01), slots, g, step)


def _momentum(w: Any, slots: list[Any], g: Any, step: int) -> Any:
    slots[0][:] = 0.9 * slots[0] + g
    return w - 0.1 * slots[0]


_ADAM = (0.1, 0.9, 0.99)
_RULES: dict[str, tuple[str, tuple[Any, ...], Callable[..., Any]]] = {
    "lazy": ("LazyAdamOptimizer", _ADAM, _adam),
    "nadam": ("NadamOptimizer", _ADAM, lambda *given: _adam(*given, nesterov=True)),
    "adamax": ("AdaMaxOptimizer", _ADAM, _adamax),
    "add sign": ("AddSignOptimizer", (), _sign(power=False)),
    "power sign": ("PowerSignOptimizer", (), _sign(power=True)),
    "lars": ("LARSOptimizer", (0.1,), _lars),
    "adam with decay": ("AdamWOptimizer", (0.01, *_ADAM), _decayed(_adam)),
    "momentum with decay": ("MomentumWOptimizer", (0.01, 0.1, 0.9), _decayed(_momentum)),
}


@pytest.mark.parametrize("resource", [False, True])
@pytest.mark.parametrize("name", _RULES)
def test_dense_steps_follow_their_formula(tf: Any, name: str, resource: bool) -> None:
    """For both kinds of variables."""
    made, arguments, rule = _RULES[name]
    got = _stepped(tf, getattr(tf.contrib.opt, made)(*arguments), resource)
    want, slots = _START.astype(np.float64), [np.zeros((3, 2)), np.zeros((3, 2))]
    for step, gradient in enumerate(_GRADIENTS, 1):
        want = rule(want, slots, gradient, step)

    np.testing.assert_allclose(got, want, rtol=2e-5)


def test_layer_rates_are_of_the_type_of_the_variable(tf: Any) -> None:
    """Also where the learning rate is a plain number; the running sum has the rate in it."""
    start, gradient = np.ones((2, 2)), np.full((2, 2), 0.5)
    variable = tf.Variable(start, dtype=tf.float64)
    optimizer = tf.contrib.opt.LARSOptimizer(0.1, weight_decay=0.1, eeta=0.2, epsilon=1e-5)
    step = optimizer.apply_gradients([(tf.constant(gradient), variable)])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(step)
        found, sums = session.run([variable, optimizer.get_slot(variable, "momentum")])

    rate = 0.1 * 0.2 * 2 / (1 + 0.1 * 2 + 1e-5)
    np.testing.assert_allclose(sums, rate * 0.6 * start, rtol=1e-6)
    np.testing.assert_allclose(found, start - rate * 0.6, rtol=1e-6)


@pytest.mark.parametrize("resource", [False, True])
@pytest.mark.parametrize("name", [name for name in _RULES if name not in ("lars",)])
def test_sparse_steps_change_their_rows_as_dense_ones(tf: Any, name: str, resource: bool) -> None:
    """The same rows in all steps: the others stay, and decay with decay of rows only."""
    made, arguments, rule = _RULES[name]
    got = _stepped(tf, getattr(tf.contrib.opt, made)(*arguments), resource, _ROWS)
    want, slots = _START[_ROWS].astype(np.float64), [np.zeros((2, 2)), np.zeros((2, 2))]
    for step, gradient in enumerate(_GRADIENTS, 1):
        want = rule(want, slots, gradient[_ROWS], step)

    np.testing.assert_allclose(got[_ROWS], want, rtol=2e-5)
    np.testing.assert_array_equal(got[1], _START[1])


def test_lazy_adam_keeps_the_means_of_other_rows(tf: Any) -> None:
    """Adam lets them decay."""
    optimizer = tf.contrib.opt.LazyAdamOptimizer(*_ADAM)
    variable = tf.get_variable("weights", initializer=tf.constant(_START))
    rows = tf.placeholder(tf.int32, [1])
    train = optimizer.apply_gradients([(tf.IndexedSlices(tf.ones([1, 2]), rows, [3, 2]), variable)])
    mean = optimizer.get_slot(variable, "m")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train, {rows: [1]})
        session.run(train, {rows: [2]})
        want = np.float32([[0, 0], [0.1, 0.1], [0.1, 0.1]])
        np.testing.assert_allclose(session.run(mean), want, rtol=1e-6)


def test_only_chosen_variables_decay(tf: Any) -> None:
    """With gradients of zeros nothing else changes."""
    made = tf.contrib.opt.extend_with_decoupled_weight_decay(tf.train.GradientDescentOptimizer)
    one, two = (tf.get_variable(name, initializer=[2.0, 4.0]) for name in "ab")
    loss = tf.reduce_sum(one * 0 + two * 0)
    train = made(0.25, learning_rate=1.0).minimize(loss, decay_var_list=[one])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train)
        assert [x.tolist() for x in session.run([one, two])] == [[1.5, 3.0], [2.0, 4.0]]


def test_a_frozen_adagrad_keeps_its_accumulators(tf: Any) -> None:
    """Inside of the block only."""
    optimizer = tf.contrib.opt.RegAdagradOptimizer(1.0)
    variable = tf.get_variable("weights", initializer=[1.0])
    pairs = [(tf.constant([2.0]), variable)]
    with optimizer.avoid_updating_slots():
        frozen = optimizer.apply_gradients(pairs)
    usual = optimizer.apply_gradients(pairs)
    sums = optimizer.get_slot(variable, "accumulator")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(frozen)
        np.testing.assert_allclose(session.run(sums), [0.1])
        session.run(usual)
        np.testing.assert_allclose(session.run(sums), [4.1])


def test_a_swapping_saver_writes_means_in_the_variables_place(tf: Any, tmp_path: Any) -> None:
    """And a saver before any step is refused."""
    optimizer = tf.contrib.opt.MovingAverageOptimizer(
        tf.train.GradientDescentOptimizer(1.0), average_decay=0.5
    )
    variable = tf.get_variable("weights", initializer=[8.0])
    with pytest.raises(RuntimeError, match="before creating the swapping_saver"):
        optimizer.swapping_saver()
    train = optimizer.minimize(tf.reduce_sum(variable * 4))
    saver = optimizer.swapping_saver()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train)
        path = saver.save(session, str(tmp_path / "model"))
        assert session.run(variable).tolist() == [4.0]
    assert tf.train.load_variable(path, "weights").tolist() == [6.0]


def test_tasks_without_a_gradient_leave_slots_alone(tf: Any) -> None:
    """A gradient of zeros does not let the momentum move the variable."""
    optimizer = tf.contrib.opt.MultitaskOptimizerWrapper(tf.train.MomentumOptimizer(1.0, 0.9))
    variable = tf.get_variable("weights", initializer=[1.0, 2.0])
    gradient = tf.placeholder(tf.float32, [2])
    train = optimizer.apply_gradients([(gradient, variable)])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train, {gradient: [1.0, 1.0]})
        session.run(train, {gradient: [0.0, 0.0]})
        assert session.run(variable).tolist() == [0.0, 1.0]


def test_norms_of_variables_are_clipped_after_a_step(tf: Any) -> None:
    """In the dimensions that are given."""
    variable = tf.get_variable("weights", initializer=tf.zeros([2, 2]))
    optimizer = tf.contrib.opt.VariableClippingOptimizer(
        tf.train.GradientDescentOptimizer(1.0), {variable: [1]}, 1.0
    )
    train = optimizer.apply_gradients([(tf.constant([[-3.0, -4.0], [-0.3, 0.0]]), variable)])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train)
        np.testing.assert_allclose(session.run(variable), [[0.6, 0.8], [0.3, 0]], rtol=1e-6)


def test_scipy_finds_the_minimum_within_bounds_and_constraints(tf: Any) -> None:
    """Of several variables at once; callbacks see the losses."""
    pytest.importorskip("scipy")
    interface = tf.contrib.opt.ScipyOptimizerInterface
    one = tf.get_variable("one", initializer=[5.0, 5.0])
    two = tf.get_variable("two", initializer=1.0)
    loss = tf.reduce_sum((one - [1.0, 2.0]) ** 2) + (two - 3.0) ** 2
    seen: list[Any] = []
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        interface(loss, options={"maxiter": 50}).minimize(
            session, fetches=[loss], loss_callback=seen.append
        )
        np.testing.assert_allclose(session.run(one), [1, 2], atol=1e-3)
        assert session.run(two) == pytest.approx(3, abs=1e-3)
        interface(loss, var_to_bounds={one: (1.5, np.inf)}).minimize(session)
        np.testing.assert_allclose(session.run(one), [1.5, 2], atol=1e-3)
        interface(loss, equalities=[tf.reduce_sum(one)], inequalities=[two - 4.0]).minimize(session)
        np.testing.assert_allclose(session.run(one), [-0.5, 0.5], atol=1e-3)
        assert session.run(two) == pytest.approx(4, abs=1e-3)
    assert seen[-1] < seen[0]


def test_a_decay_of_signs_needs_the_global_step(tf: Any) -> None:
    """The three schedules have their values at the start and at the end."""
    module = importlib.import_module("tensorflow.contrib.opt.python.training.sign_decay")
    step = tf.placeholder(tf.int32, [])
    made = [
        module.get_linear_decay_fn(10)(step),
        module.get_cosine_decay_fn(10)(step),
        module.get_restart_decay_fn(10, num_periods=2)(step),
    ]
    with tf.Session() as session:
        np.testing.assert_allclose(session.run(made, {step: 0}), [1, 1, 1])
        np.testing.assert_allclose(session.run(made, {step: 5}), [0.5, 0.5, 1], atol=1e-6)
        np.testing.assert_allclose(session.run(made[:2], {step: 20}), [0, 0], atol=1e-6)
    with pytest.raises(ValueError, match="global_step is required"):
        module.get_linear_decay_fn(10)(None)


def test_optimizers_that_are_not_there_say_what_to_use(tf: Any) -> None:
    """When they are made, not when they are imported."""
    found = tf.contrib.opt.ShampooOptimizer
    with pytest.raises(NotImplementedError, match=r"use an optimizer of tf\.train"):
        found(0)
