"""``tf.custom_gradient``: functions with their own gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tfnb as tf

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    """A default graph of the test's own."""
    with tf.Graph().as_default() as graph:
        yield graph


def _run(fetches: Any) -> Any:
    with tf.Session() as session:
        return session.run(fetches)


def test_own_gradient_takes_the_place_of_the_computed_one() -> None:
    """The example overflows without the custom gradient."""

    @tf.custom_gradient
    def log1pexp(x: tf.Tensor) -> Any:
        e = tf.exp(x)
        return tf.log(1.0 + e), lambda dy: dy * (1.0 - 1.0 / (1.0 + e))

    x = tf.constant(100.0)
    (plain,) = tf.gradients(tf.log(1.0 + tf.exp(x)), x)
    (own,) = tf.gradients(log1pexp(x), x)
    assert np.isnan(_run(plain))
    assert _run(own) == 1.0


def test_one_gradient_for_each_argument() -> None:
    """A gradient may be None; arguments need not be tensors."""

    @tf.custom_gradient
    def scaled(a: Any, b: Any) -> Any:
        return [a * b, a + b], lambda da, db: (da * 7.0 + db, None)

    x = tf.constant([1.0, 2.0])
    y, z = scaled(x, np.array([3.0, 4.0], np.float32))
    assert _run(y).tolist() == [3.0, 8.0]
    assert _run(z).tolist() == [4.0, 6.0]
    assert _run(tf.gradients([y, z], x)[0]).tolist() == [8.0, 8.0]


def test_methods_may_be_decorated() -> None:
    """Methods get their object as usual."""

    class Scale:
        factor = 3.0

        @tf.custom_gradient
        def apply(self, x: tf.Tensor) -> Any:
            """x times the factor."""
            return x * self.factor, lambda dy: dy * -1.0

    x = tf.constant(2.0)
    y = Scale().apply(x)
    assert _run([y, *tf.gradients(y, x)]) == [6.0, -1.0]


def test_keyword_arguments_are_refused() -> None:
    """Keyword arguments are refused, as in TensorFlow's graphs."""

    @tf.custom_gradient
    def same(x: tf.Tensor) -> Any:
        return x, lambda dy: dy

    with pytest.raises(ValueError, match="does not support keyword arguments"):
        same(x=tf.constant(1.0))


def test_decorated_function_keeps_its_name() -> None:
    """The docstring is kept, too."""

    @tf.custom_gradient
    def same(x: tf.Tensor) -> Any:
        """The same."""
        return x, lambda dy: dy

    assert same.__name__ == "same"
    assert same.__doc__ == "The same."


def test_own_gradient_within_a_loop() -> None:
    """Forward values that the gradient needs are saved in every iteration."""

    @tf.custom_gradient
    def square(x: tf.Tensor) -> Any:
        return x * x, lambda dy: dy * 2.0 * x

    x = tf.constant(1.5)
    loop = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, square(a)), [0, x])
    np.testing.assert_allclose(_run(tf.gradients(loop[1], x)[0]), 8 * 1.5**7, rtol=1e-5)


def test_gradient_passes_through() -> None:
    """A rounding has the gradient of the identity."""
    x = tf.constant([1.2, 2.7])
    y = tf.grad_pass_through(tf.round)(x)
    assert _run(y).tolist() == [1.0, 3.0]
    assert _run(tf.gradients(y * 2.0, x)[0]).tolist() == [2.0, 2.0]


def test_recomputed_function_has_the_same_gradient() -> None:
    """The function reads a variable, which gets its gradient as well."""
    x = tf.constant([1.0, 2.0])
    v = tf.Variable([3.0, 4.0], use_resource=True)

    def f(a: tf.Tensor) -> tf.Tensor:
        return tf.tanh(a * v) * a

    expected = tf.gradients(f(x), [x, v])
    actual = tf.gradients(tf.recompute_grad(f)(x), [x, v])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        want, got = session.run([expected, actual])
    np.testing.assert_allclose(got, want, rtol=1e-6)


def test_recomputed_function_is_built_twice() -> None:
    """The second time is in the gradient, with the variables of the first."""
    calls: list[tf.Tensor] = []

    def f(a: tf.Tensor) -> tf.Tensor:
        w = tf.get_variable("w", initializer=[3.0, 4.0], use_resource=True)
        calls.append(a)
        return a * w

    y = tf.recompute_grad(f)(tf.constant([1.0, 2.0]))
    assert len(calls) == 1
    tf.gradients(y, tf.global_variables()[0])
    assert len(calls) == 2
    assert len(tf.global_variables()) == 1
