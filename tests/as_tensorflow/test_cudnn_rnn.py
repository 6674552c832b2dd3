"""`tf.contrib.cudnn_rnn`: layers against single cells, and the names of their variables."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.usefixtures("as_tensorflow")


@pytest.fixture
def tf() -> Any:
    """Return TensorFlow as a program gets it, with a graph of the test's own as the default."""
    tf = importlib.import_module("tensorflow")
    with tf.Graph().as_default():
        tf.set_random_seed(4)
        yield tf


def _wave(*shape: int) -> Any:
    return np.sin(np.arange(np.prod(shape), dtype=np.float32) * 1.3).reshape(shape)


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def _lstm(x: Any, state: list[Any], w: dict[str, Any]) -> list[Any]:
    h, c = state
    gates = np.concatenate([x, h], 1) @ w["kernel"] + w["bias"]
    i, j, f, o = np.split(gates, 4, 1)
    c = _sigmoid(f) * c + _sigmoid(i) * np.tanh(j)
    return [np.tanh(c) * _sigmoid(o), c]


def _gru(x: Any, state: list[Any], w: dict[str, Any]) -> list[Any]:
    h = state[0]
    gates = _sigmoid(np.concatenate([x, h], 1) @ w["gates/kernel"] + w["gates/bias"])
    r, u = np.split(gates, 2, 1)
    one, two = "candidate/input_projection", "candidate/hidden_projection"
    seen = r * (h @ w[f"{two}/kernel"] + w[f"{two}/bias"])
    new = np.tanh(x @ w[f"{one}/kernel"] + w[f"{one}/bias"] + seen)
    return [(1 - u) * new + u * h]


def _basic(x: Any, state: list[Any], w: dict[str, Any]) -> list[Any]:
    return [np.tanh(np.concatenate([x, state[0]], 1) @ w["kernel"] + w["bias"])]


_KINDS = {
    "CudnnLSTM": (_lstm, "cudnn_compatible_lstm_cell"),
    "CudnnGRU": (_gru, "cudnn_compatible_gru_cell"),
    "CudnnRNNTanh": (_basic, "basic_rnn_cell"),
}


def _weights(tf: Any, session: Any, prefix: str) -> dict[str, Any]:
    return {
        one.op.name.removeprefix(prefix): session.run(one)
        for one in tf.trainable_variables()
        if one.op.name.startswith(prefix)
    }


@pytest.mark.parametrize("kind", _KINDS)
def test_layers_run_cells_above_each_other(tf: Any, kind: str) -> None:
    """In time, with states that are given, under the names of checkpoints."""
    step, cell = _KINDS[kind]
    layer = getattr(tf.contrib.cudnn_rnn, kind)(2, 3, bias_initializer=tf.ones_initializer())
    x = _wave(4, 2, 5)
    before = tuple(_wave(*shape) for shape in layer.state_shape(2))
    outputs, last = layer(tf.constant(x), before)
    scope = tf.trainable_variables()[0].op.name.partition("/")[0]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        got, states = session.run([outputs, last])
        weights = [
            _weights(tf, session, f"{scope}/rnn/multi_rnn_cell/cell_{n}/{cell}/") for n in range(2)
        ]

    now = [[part[layer_number] for part in before] for layer_number in range(2)]
    for time in range(4):
        value = x[time]
        for number in range(2):
            now[number] = step(value, now[number], weights[number])
            value = now[number][0]
        np.testing.assert_allclose(got[time], value, rtol=1e-4, atol=1e-6)
    for part, found in enumerate(states):
        np.testing.assert_allclose(found, [one[part] for one in now], rtol=1e-4, atol=1e-6)


def test_both_directions_are_joined(tf: Any) -> None:
    """States alternate; the second layer sees both directions; lengths count."""
    layer = tf.contrib.cudnn_rnn.CudnnLSTM(2, 3, direction="bidirectional", name="layer")
    x = _wave(2, 4, 5)
    outputs, (h, c) = layer(tf.constant(x), sequence_lengths=[4, 2], time_major=False)
    assert outputs.shape.as_list() == [2, 4, 6]
    cell = "cudnn_compatible_lstm_cell"
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        got, last = session.run([outputs, h])
        first = _weights(tf, session, f"layer/stack_bidirectional_rnn/cell_0/bidirectional_rnn/bw/"
                         f"{cell}/")  # fmt: skip
        shapes = {one.op.name: one.shape.as_list() for one in tf.trainable_variables()}
        session.run(c)
    assert last.shape == (4, 2, 3)
    np.testing.assert_allclose(last[2, 0], got[0, 3, :3], rtol=1e-6)
    np.testing.assert_allclose(last[3], got[:, 0, 3:], rtol=1e-6)
    np.testing.assert_allclose(last[2, 1], got[1, 1, :3], rtol=1e-6)
    assert not got[1, 2:].any()
    top = f"layer/stack_bidirectional_rnn/cell_1/bidirectional_rnn/fw/{cell}/kernel"
    assert shapes[top] == [9, 12]
    state = [np.zeros((1, 3)), np.zeros((1, 3))]
    for time in (1, 0):
        state = _lstm(x[1:, time], state, first)
    np.testing.assert_allclose(last[1, 1], state[0][0], rtol=1e-4, atol=1e-6)


def test_a_compatible_cell_runs_with_the_layers_weights(tf: Any, tmp_path: Any) -> None:
    """Through a checkpoint, as programs do that train on a GPU and serve on a CPU."""
    cudnn = tf.contrib.cudnn_rnn
    x = tf.constant(_wave(3, 2, 4))
    want, _ = cudnn.CudnnLSTM(1, 3, name="layer")(x)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        path = tf.train.Saver().save(session, str(tmp_path / "model"))
        expected = session.run(want)
    with tf.Graph().as_default():
        with tf.variable_scope("layer"):
            cell = tf.nn.rnn_cell.MultiRNNCell([cudnn.CudnnCompatibleLSTMCell(3)])
            x = tf.constant(_wave(3, 2, 4))
            found, _ = tf.nn.dynamic_rnn(cell, x, dtype=tf.float32, time_major=True)
        with tf.Session() as session:
            tf.train.Saver().restore(session, path)
            np.testing.assert_allclose(session.run(found), expected, rtol=1e-6)


def test_dropout_acts_between_layers_in_training_only(tf: Any) -> None:
    """By a tensor too; a layer that is called again has the same weights."""
    layer = tf.contrib.cudnn_rnn.CudnnGRU(2, 8, dropout=0.5, seed=1)
    x, training = tf.constant(_wave(3, 2, 4)), tf.placeholder(tf.bool, [])
    chosen, _ = layer(x, training=training)
    usual, _ = layer(x, training=False)
    assert len(tf.trainable_variables()) == 12
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        want = session.run(usual)
        np.testing.assert_allclose(session.run(chosen, {training: False}), want, rtol=1e-6)
        assert not np.allclose(session.run(chosen, {training: True}), want)


def test_arguments_that_do_not_fit_are_refused(tf: Any) -> None:
    """With TensorFlow's class of error."""
    cudnn = tf.contrib.cudnn_rnn
    with pytest.raises(ValueError, match="direction"):
        cudnn.CudnnLSTM(1, 2, direction="sideways")
    with pytest.raises(NotImplementedError, match="linear_input"):
        cudnn.CudnnLSTM(1, 2, input_mode="skip_input")
    with pytest.raises(TypeError, match="expecting tuple"):
        cudnn.CudnnGRU(1, 2)(tf.zeros([1, 1, 2]), tf.zeros([1, 1, 2]))
    with pytest.raises(ValueError, match="3 dims"):
        cudnn.CudnnGRU(1, 2)(tf.zeros([1, 2]))
    with pytest.raises(NotImplementedError, match="canonical format"):
        cudnn.CudnnLSTMSaveable()
