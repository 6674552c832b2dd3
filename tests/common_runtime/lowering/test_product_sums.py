"""Gradients of weights over many time steps, made as few long products."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np
import pytest

import tfnb as tf
from tests.common_runtime.lowering.test_control_flow import sources
from tfnb.common_runtime.lowering.rewrite.product_sums import ProductSum
from tfnb.common_runtime.lowering.run.step_way import Lowering, lowering

_PLACES = {"unrolled": "product_of(", "loop": "further_of("}


def network(kind: str, x: Any, kernel: Any) -> Any:
    """Return the last state of a recurrent network over the first dimension of ``x``.

    Args:
      kind: "unrolled", or "loop".
      x: time steps, rows and columns.
      kernel: the weights.
    """

    def step(state: Any, now: Any) -> Any:
        return tf.tanh(tf.matmul(tf.concat([now, state], 1), kernel))

    size = int(kernel.shape[1])
    state = tf.zeros([tf.shape(x)[1], size], x.dtype)
    if kind == "loop":
        return tf.scan(step, x, state)[-1]
    for time in range(int(x.shape[0])):
        state = step(state, x[time])
    return state


def gradients(kind: str, feed: Any, size: int = 40, more: Any = None) -> tuple[list[Any], str]:
    """Return gradients by the reference executor and as a function, and the function's source.

    Args:
      kind: see :func:`network`.
      feed: time steps, rows and columns.
      size: the number of columns of the state.
      more: a function of the weights whose result is added to the loss.
    """
    found = []
    weights = np.random.default_rng(5).normal(0, 0.3, (feed.shape[2] + size, size))
    for when in (Lowering.NEVER, Lowering.ALWAYS):
        with lowering(when), tf.Graph().as_default():
            x = tf.placeholder(feed.dtype, [len(feed), None, feed.shape[2]])
            kernel = tf.constant(weights.astype(feed.dtype))
            loss = tf.reduce_sum(network(kind, x, kernel))
            if more is not None:
                loss += more(kernel)
            (gradient,) = tf.gradients(loss, [kernel])
            with tf.Session() as session:
                found.append(session.run(gradient, {x: feed}))
                source = "".join(sources(session))
    return found, source


def assert_rounded_otherwise(got: Any, wanted: Any) -> None:
    """Compare sums whose terms were added in another order."""
    most = np.abs(wanted).max() * 50 * np.finfo(wanted.dtype).eps
    np.testing.assert_allclose(got, wanted, rtol=0, atol=most)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("rows", [1, 3, 100])
@pytest.mark.parametrize("kind", _PLACES)
def test_the_gradient_is_that_of_single_products(kind: str, rows: int, dtype: Any) -> None:
    """Sums of few rows, and of more than are multiplied at once, differ by rounding only."""
    feed = np.random.default_rng(1).normal(size=(7, rows, 20)).astype(dtype)
    (wanted, got), source = gradients(kind, feed)
    assert _PLACES[kind] in source
    assert got.dtype == wanted.dtype
    assert_rounded_otherwise(got, wanted)


@pytest.mark.parametrize("kind", _PLACES)
def test_deterministic_results_keep_their_bits(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """With TF_DETERMINISTIC_OPS=1 each product is added, as single nodes do it."""
    monkeypatch.setenv("TF_DETERMINISTIC_OPS", "1")
    (wanted, got), source = gradients(kind, np.ones((4, 8, 30), np.float32))
    assert _PLACES[kind] not in source
    np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("kind", _PLACES)
def test_small_results_keep_their_bits(kind: str) -> None:
    """Products of small results are added one by one, in the order of the sum."""
    feed = np.random.default_rng(1).normal(size=(7, 3, 4)).astype(np.float32)
    (wanted, got), _ = gradients(kind, feed, size=5)
    assert got.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("kind", _PLACES)
def test_no_rows_and_other_terms(kind: str) -> None:
    """A batch of no rows gives zeros; the weights have a gradient outside of the steps, too."""

    def more(kernel: Any) -> Any:
        return tf.reduce_sum(tf.square(kernel))

    for rows in (0, 2):
        feed = np.ones((4, rows, 20), np.float32)
        (wanted, got), _ = gradients(kind, feed, more=more)
        assert_rounded_otherwise(got, wanted)
        assert got.any()


@pytest.mark.parametrize("kind", _PLACES)
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_is_not_finite_stays_where_it_is(kind: str, value: float) -> None:
    """NaN and infinity of one time step reach the same elements of the gradient."""
    feed = np.ones((4, 2, 20), np.float32)
    feed[2, 1, 3] = value
    (wanted, got), _ = gradients(kind, feed)
    assert np.isnan(wanted).any()
    np.testing.assert_array_equal(np.isnan(got), np.isnan(wanted))


def loop_of_products(read: bool) -> tuple[list[Any], str]:
    """Return the sums of a loop, whose variable the loop reads or not, and the source."""
    found = []
    for when in (Lowering.NEVER, Lowering.ALWAYS):
        with lowering(when), tf.Graph().as_default():
            x = tf.placeholder(tf.float32, [3, 40])
            times = tf.placeholder(tf.int32, [])

            def body(i: Any, total: Any, x: Any = x) -> tuple[Any, Any]:
                product = tf.matmul(x * tf.cast(i, tf.float32), x, transpose_a=True)
                return i + 1, (tf.tanh(total) + total if read else total) + product

            _, total = tf.while_loop(
                lambda i, _, times=times: i < times, body, [0, tf.eye(40) * 0.5]
            )
            feed = np.random.default_rng(1).normal(size=(3, 40)).astype("f4")
            with tf.Session() as session:
                found += [session.run(total, {x: feed, times: turns}) for turns in (0, 1, 6)]
                source = "".join(sources(session))
    return found, source


def test_the_first_value_and_no_iterations() -> None:
    """The sum begins with the variable's first value, which is the result of no iterations."""
    found, source = loop_of_products(read=False)
    assert "further_of(" in source
    for wanted, got in zip(found[:3], found[3:], strict=True):
        assert_rounded_otherwise(got, wanted)


def test_a_sum_that_the_loop_reads_is_made_at_once() -> None:
    """If an iteration reads the sum so far, no product is deferred."""
    found, source = loop_of_products(read=True)
    assert "further_of(" not in source
    for wanted, got in zip(found[:3], found[3:], strict=True):
        assert got.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("rows", [5, 41])
def test_terms_that_do_not_fit_are_said_by_the_sum(rows: int) -> None:
    """The error is the one of the kernel, whichever terms are products."""
    found = []
    for when in (Lowering.NEVER, Lowering.ALWAYS):
        with lowering(when), tf.Graph().as_default():
            x = tf.placeholder(tf.float32, None)
            y = tf.placeholder(tf.float32, None)
            products = [tf.raw_ops.MatMul(a=one, b=x, transpose_a=True) for one in (x, x * 2.0, y)]
            total = tf.raw_ops.AddN(inputs=[*products, x])
            feed = {x: np.ones((3, 40), "f4"), y: np.ones((3, rows), "f4")}
            with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError) as error:
                session.run(total, feed)
            found.append((error.value.op.name, error.value.message))
    assert found[0] == found[1]
    assert f"Input 0: [40,40] != input 2: [{rows},40]" in found[0][1]


@pytest.mark.parametrize("kind", _PLACES)
def test_matrices_that_do_not_fit_are_said_by_the_product(kind: str) -> None:
    """A product with matrices of different lengths fails as a product of its own."""
    found = []
    for when in (Lowering.NEVER, Lowering.ALWAYS):
        with lowering(when), tf.Graph().as_default():
            x = tf.placeholder(tf.float32, [None, 40])
            y = tf.placeholder(tf.float32, [None, 40])
            if kind == "loop":
                total = tf.while_loop(
                    lambda i, _: i < 3,
                    lambda i, total, x=x, y=y: (
                        i + 1,
                        total + tf.matmul(x, y, transpose_a=True, name="odd"),
                    ),
                    [0, tf.zeros([40, 40])],
                )[1]
            else:
                odd = tf.matmul(x, y, transpose_a=True, name="odd")
                total = tf.add_n([tf.matmul(x, x, transpose_a=True), odd])
            feed = {x: np.ones((3, 40), "f4"), y: np.ones((2, 40), "f4")}
            with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError) as error:
                session.run(total, feed)
            found.append((error.value.op.name, error.value.message))
    assert found[0] == found[1]
    assert found[0][0].endswith("odd")


def test_deferred_rows_keep_no_large_array_in_memory() -> None:
    """Rows that are a small part of an array are copied, so that the array may end."""
    whole = np.random.default_rng(1).normal(size=(300, 40)).astype("f4")
    rows, watched = whole[:3], weakref.ref(whole)
    found = ProductSum(lambda a, b: a.T @ b)
    assert found.takes(rows, rows)
    wanted = rows.T @ rows
    del whole, rows
    assert watched() is None
    np.testing.assert_array_equal(found.total(), wanted)
