"""Recurrent cells that are one op: their gradients, and what they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tfnb as tf
from tests.ops.samples import normal
from tfnb.core import errors

_BATCH, _INPUTS, _CELLS, _STEPS = 3, 4, 2, 4


def _lstm_inputs() -> list[Any]:
    size = _CELLS
    return [
        normal(_BATCH, size, seed=1),
        normal(_BATCH, size, seed=2),
        normal(_INPUTS + size, 4 * size, seed=3) * 0.4,
        *(normal(size, seed=seed) for seed in (4, 5, 6)),
        normal(4 * size, seed=7),
    ]


def _composed_lstm(x: Any, cs: Any, h: Any, w: Any, wci: Any, wcf: Any, wco: Any, b: Any) -> Any:
    """Return the same step built of single ops."""
    gates = tf.matmul(tf.concat([x, h], 1), w) + b
    i, ci, f, o = tf.split(gates, 4, 1)
    i, f = tf.sigmoid(i + cs * wci), tf.sigmoid(f + 1.0 + cs * wcf)
    cs = i * tf.tanh(ci) + f * cs
    return cs, tf.sigmoid(o + cs * wco) * tf.tanh(cs)


def _composed_gru(x: Any, h: Any, w_ru: Any, w_c: Any, b_ru: Any, b_c: Any) -> Any:
    r, u = tf.split(tf.sigmoid(tf.matmul(tf.concat([x, h], 1), w_ru) + b_ru), 2, 1)
    c = tf.tanh(tf.matmul(tf.concat([x, h * r], 1), w_c) + b_c)
    return u * h + (1.0 - u) * c


def _assert_same_gradients(of_op: Any, of_composed: Any, inputs: list[Any]) -> None:
    with tf.Session() as session:
        wanted = session.run(tf.gradients(of_composed, inputs))
        found = session.run(tf.gradients(of_op, inputs))
    for ours, theirs in zip(found, wanted, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=2e-4, atol=2e-5)


def test_an_lstm_step_has_the_gradients_of_its_parts() -> None:
    """Gradients of all eight inputs are compared, with peepholes."""
    with tf.Graph().as_default():
        inputs = [tf.constant(value) for value in [normal(_BATCH, _INPUTS), *_lstm_inputs()]]
        names = ("x", "cs_prev", "h_prev", "w", "wci", "wcf", "wco", "b")
        step = tf.raw_ops.LSTMBlockCell(
            **dict(zip(names, inputs, strict=True)), use_peephole=True, cell_clip=-1.0
        )
        state, output = _composed_lstm(*inputs)
        factor = tf.constant(normal(_BATCH, _CELLS, seed=9))
        _assert_same_gradients([step.h * factor, step.cs], [output * factor, state], inputs)


def test_an_lstm_over_time_has_the_gradients_of_a_loop() -> None:
    """Gradients of all inputs but the length are compared, with peepholes."""
    with tf.Graph().as_default():
        x, *rest = (tf.constant(v) for v in [normal(_STEPS, _BATCH, _INPUTS), *_lstm_inputs()])
        names = ("cs_prev", "h_prev", "w", "wci", "wcf", "wco", "b")
        block = tf.raw_ops.BlockLSTM(
            seq_len_max=tf.constant(_STEPS, tf.int64),
            x=x,
            **dict(zip(names, rest, strict=True)),
            use_peephole=True,
            cell_clip=-1.0,
        )
        state, output, outputs = rest[0], rest[1], []
        for one in tf.unstack(x):
            state, output = _composed_lstm(one, state, output, *rest[2:])
            outputs.append(output)
        factor = tf.constant(normal(_STEPS, _BATCH, _CELLS, seed=9))
        _assert_same_gradients(block.h * factor, tf.stack(outputs) * factor, [x, *rest])


def test_a_gru_step_has_the_gradients_of_its_parts() -> None:
    """Gradients of all six inputs are compared."""
    with tf.Graph().as_default():
        size = _CELLS
        shapes = [
            (_BATCH, _INPUTS), (_BATCH, size), (_INPUTS + size, 2 * size), (_INPUTS + size, size),
            (2 * size,), (size,),
        ]  # fmt: skip
        inputs = [tf.constant(normal(*shape, seed=n)) for n, shape in enumerate(shapes)]
        names = ("x", "h_prev", "w_ru", "w_c", "b_ru", "b_c")
        step = tf.raw_ops.GRUBlockCell(**dict(zip(names, inputs, strict=True)))
        factor = tf.constant(normal(_BATCH, size, seed=9))
        _assert_same_gradients(step.h * factor, _composed_gru(*inputs) * factor, inputs)


@pytest.mark.parametrize("length", [-1, _STEPS + 1])
def test_a_length_beyond_the_input_is_refused(length: int) -> None:
    """TensorFlow's process ends here; tfnb raises an error."""
    with tf.Graph().as_default():
        names = ("cs_prev", "h_prev", "w", "wci", "wcf", "wco", "b")
        block = tf.raw_ops.BlockLSTM(
            seq_len_max=tf.constant(length, tf.int64),
            x=normal(_STEPS, _BATCH, _INPUTS),
            **dict(zip(names, _lstm_inputs(), strict=True)),
        )
        with (
            tf.Session() as session,
            pytest.raises(errors.InvalidArgumentError, match="between 0 and 4"),
        ):
            session.run(block.h)


def test_a_cudnn_network_says_that_it_has_no_kernel() -> None:
    """The graph is built and differentiated; the step raises the error."""
    with tf.Graph().as_default():
        x, h = tf.constant(normal(7, 3, 4)), tf.constant(normal(1, 3, 5))
        params = tf.constant(normal(200))
        network = tf.raw_ops.CudnnRNN(input=x, input_h=h, input_c=h, params=params)
        grads = tf.gradients(network.output, [x, h, params])
        assert [grad.shape.as_list() for grad in grads] == [[7, 3, 4], [1, 3, 5], [200]]
        with (
            tf.Session() as session,
            pytest.raises(errors.InvalidArgumentError, match="No OpKernel was registered"),
        ):
            session.run(network.output)


def test_a_cudnn_network_that_does_not_train_has_no_gradient() -> None:
    """The gradient needs values that only training keeps."""
    with tf.Graph().as_default():
        x, h = tf.constant(normal(7, 3, 4)), tf.constant(normal(1, 3, 5))
        network = tf.raw_ops.CudnnRNN(
            input=x, input_h=h, input_c=h, params=normal(200), is_training=False
        )
        with pytest.raises(ValueError, match="is_training must be set to True"):
            tf.gradients(network.output, x)
