"""`tf.contrib.integrate`: solutions against their formulas, types, shapes and errors."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.usefixtures("as_tensorflow")
SINE = np.array([[0.0, 1.0], [-1.0, 0.0]])


@pytest.fixture
def tf() -> Any:
    """Return TensorFlow as a program gets it, with a graph of the test's own as the default."""
    tf = importlib.import_module("tensorflow")
    with tf.Graph().as_default():
        yield tf


@pytest.fixture
def integrate() -> Any:
    """Return `tf.contrib.integrate`."""
    return importlib.import_module("tensorflow.contrib.integrate")


@pytest.mark.parametrize("state", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("time", ["float32", "float64"])
def test_growth_of_each_type_is_an_exponential(
    tf: Any, integrate: Any, state: str, time: str
) -> None:
    """A state of real or complex numbers, times of either precision."""
    t = np.linspace(0.0, 1.0, 11)
    y = integrate.odeint(lambda y, t: y, tf.cast(1.0, state), tf.cast(t, time))
    assert y.shape.as_list() == [11]
    with tf.Session() as session:
        found = session.run(y)

    assert found.dtype == state
    np.testing.assert_allclose(found, np.exp(t), rtol=1e-5)


def test_a_state_turns_in_the_complex_plane(tf: Any, integrate: Any) -> None:
    """A factor that is neither real nor imaginary, and a derivative that uses the time."""
    factor = 1j - 0.1
    t = np.linspace(0.0, 1.0, 11)
    turned = integrate.odeint(lambda y, t: factor * y, 1.0 + 0.0j, t)
    riccati = integrate.odeint(lambda y, t: (y - t) ** 2 + 1.0, np.float64(0.5), t)
    with tf.Session() as session:
        one, other = session.run([turned, riccati])

    np.testing.assert_allclose(one, np.exp(factor * t), rtol=1e-6)
    np.testing.assert_allclose(other, 1.0 / (2.0 - t) + t, rtol=1e-5)


def test_steps_do_not_depend_on_the_times(tf: Any, integrate: Any) -> None:
    """The values between are those of the curve of a step; what was done is told."""

    def turn(y: Any, t: Any) -> Any:
        return tf.matmul(SINE, y)

    start = np.array([[1.0], [0.0]])
    few, many = np.linspace(0, 10, 11), np.linspace(0, 10, 101)
    with tf.Session() as session:
        one, done = session.run(integrate.odeint(turn, start, few, full_output=True))
        other, seen = session.run(integrate.odeint(turn, start, many, full_output=True))

    np.testing.assert_allclose(one, other[::10], rtol=1e-12)
    np.testing.assert_allclose(other[:, 0, 0], np.cos(many), atol=1e-4)
    assert done["num_func_evals"] == seen["num_func_evals"] == done["error_ratio"].size * 6 + 1
    np.testing.assert_array_equal(done["integrate_points"], seen["integrate_points"])
    assert done["integrate_points"][-1] >= 10
    # Not each step was taken: the first one, of length 1, was too long.
    assert done["error_ratio"][0] > 1


def test_a_thousandth_of_the_error_needs_four_times_the_steps(tf: Any, integrate: Any) -> None:
    """As a formula of fifth order does."""

    def turn(y: Any, t: Any) -> Any:
        return tf.matmul(SINE, y)

    counts = []
    with tf.Session() as session:
        for error in (1e-6, 1e-9):
            _, done = integrate.odeint(
                turn, np.array([[1.0], [0.0]]), [0.0, 20.0], rtol=0, atol=error, full_output=True,
                method="dopri5", options={"max_num_steps": 2000},
            )  # fmt: skip
            counts.append(session.run(done["integrate_points"]).size)

    np.testing.assert_allclose(counts[1] / counts[0], 1000**0.2, rtol=0.02)


@pytest.mark.parametrize(("method", "order"), [("midpoint", 2), ("rk4", 4)])
def test_half_the_step_divides_the_error(tf: Any, integrate: Any, method: str, order: int) -> None:
    """By two to the order; the step is divided so that whole numbers of them fit."""
    t = np.array([0.0, 0.4, 1.7, 2.2])

    def fall(y: Any, t: Any) -> Any:
        return -tf.cast(t, y.dtype) * y

    errors = []
    with tf.Session() as session:
        for step in (0.1, 0.05):
            y = integrate.odeint_fixed(fall, np.array([1.0, 2.0]), t, step, method=method)
            assert y.shape.as_list() == [4, 2]
            found = session.run(y)
            errors.append(np.abs(found[:, 1] - 2 * np.exp(-(t**2) / 2)).max())
        plain = session.run(integrate.odeint_fixed(fall, [1.0, 2.0], t, method=method))
        each = session.run(integrate.odeint_fixed(fall, [1.0, 2.0], t, np.diff(t), method=method))

    assert 0.8 < np.log2(errors[0] / errors[1]) / order < 1.2
    np.testing.assert_array_equal(plain, each)


def test_a_fixed_grid_has_derivatives(tf: Any, integrate: Any) -> None:
    """By a factor of the derivative and by the start."""
    rate, start = tf.constant(0.5, tf.float64), tf.constant(2.0, tf.float64)
    y = integrate.odeint_fixed(lambda y, t: rate * y, start, [0.0, 1.0, 2.0], 0.01)
    with tf.Session() as session:
        by_rate, by_start = session.run(tf.gradients(y[-1], [rate, start]))

    np.testing.assert_allclose(by_rate, 2 * 2 * np.exp(1.0), rtol=1e-6)
    np.testing.assert_allclose(by_start, np.exp(1.0), rtol=1e-6)


def test_arguments_that_do_not_fit_are_refused(tf: Any, integrate: Any) -> None:
    """When the graph is made."""

    def same(y: Any, t: Any) -> Any:
        return y

    with pytest.raises(TypeError, match="`y0` must have a floating point"):
        integrate.odeint(same, tf.constant(1), [0.0, 1.0])
    with pytest.raises(TypeError, match="`t` must have a floating point"):
        integrate.odeint(same, 1.0, tf.constant([0, 1]))
    with pytest.raises(ValueError, match="t must be a 1D tensor"):
        integrate.odeint(same, 1.0, [[0.0, 1.0]])
    with pytest.raises(ValueError, match="cannot supply `options` without"):
        integrate.odeint(same, 1.0, [0.0, 1.0], options={"first_step": 1.0})
    with pytest.raises(ValueError, match="invalid method: 'euler'"):
        integrate.odeint(same, 1.0, [0.0, 1.0], method="euler")
    with pytest.raises(TypeError, match="unknown options"):
        integrate.odeint(same, 1.0, [0.0, 1.0], method="dopri5", options={"step": 1})
    with pytest.raises(ValueError, match="method not supported: euler"):
        integrate.odeint_fixed(same, 1.0, [0.0, 1.0], method="euler")
    with pytest.raises(ValueError, match="must be N and N-1: they have 2 and 3"):
        integrate.odeint_fixed(same, 1.0, [0.0, 1.0], [0.1, 0.1, 0.1])


def test_a_step_finds_what_cannot_be_solved(tf: Any, integrate: Any) -> None:
    """Times that fall, too many steps, a state that grows without bound."""

    def same(y: Any, t: Any) -> Any:
        return y

    falling = integrate.odeint(same, 1.0, [1.0, 0.0])
    few = integrate.odeint(same, 1.0, [0.0, 1.0], method="dopri5", options={"max_num_steps": 0})
    endless = integrate.odeint(lambda y, t: y * y, np.float64(1.0), [0.0, 2.0])
    invalid = tf.errors.InvalidArgumentError
    with tf.Session() as session:
        for tensor, text in [
            (falling, "monotonic increasing"), (few, "max_num_steps"), (endless, "underflow|steps")
        ]:  # fmt: skip
            with pytest.raises(invalid, match=text):
                session.run(tensor)
