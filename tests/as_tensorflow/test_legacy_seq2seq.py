"""`tf.contrib.legacy_seq2seq`: lists of steps, their variables and their losses."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.usefixtures("as_tensorflow")


@pytest.fixture
def tf() -> Any:
    """Return TensorFlow as a program gets it, with a graph of the test's own as the default."""
    tf = importlib.import_module("tensorflow")
    with tf.Graph().as_default():
        tf.set_random_seed(3)
        yield tf


def _ids(tf: Any, steps: int) -> list[Any]:
    return [tf.constant([step % 4, (2 * step + 1) % 4]) for step in range(steps)]


_MODELS: dict[str, Callable[..., Any]] = {
    "embedding_rnn_seq2seq": lambda model, *given, **more: model(*given, 4, 5, 3, **more),
    "embedding_tied_rnn_seq2seq": lambda model, *given, **more: model(
        *given, 5, 3, num_decoder_symbols=5, **more
    ),
    "embedding_attention_seq2seq": lambda model, *given, **more: model(
        *given, 4, 5, 3, num_heads=2, initial_state_attention=True, **more
    ),
}


@pytest.mark.parametrize("cell", ["GRUCell", "BasicLSTMCell"])
@pytest.mark.parametrize("name", _MODELS)
def test_a_tensor_chooses_between_known_and_own_inputs(tf: Any, name: str, cell: str) -> None:
    """The first step is the same, and both choices equal the models without a tensor."""
    legacy = tf.contrib.legacy_seq2seq
    made = _MODELS[name]

    def model(fed: Any) -> tuple[Any, Any]:
        with tf.variable_scope("model", reuse=tf.AUTO_REUSE):
            inner = getattr(tf.nn.rnn_cell, cell)(3)
            given = (_ids(tf, 3), _ids(tf, 4), inner)
            outputs, state = made(getattr(legacy, name), *given, feed_previous=fed)
        return tf.stack(outputs), state

    choice = tf.placeholder(tf.bool, [])
    chosen, state = model(choice)
    known, _ = model(False)
    own, _ = model(True)
    assert known.shape.as_list() == [4, 2, 5]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for fed, want in ((False, known), (True, own)):
            got, expected, _ = session.run([chosen, want, state], {choice: fed})
            np.testing.assert_allclose(got, expected, rtol=1e-6)
        one, other = session.run([known, own])
    np.testing.assert_allclose(one[0], other[0])
    assert not np.allclose(one[1:], other[1:])


def test_variables_have_tensorflows_names(tf: Any) -> None:
    """Of the translator with attention."""
    tf.contrib.legacy_seq2seq.embedding_attention_seq2seq(
        _ids(tf, 3), _ids(tf, 2), tf.nn.rnn_cell.GRUCell(3), 4, 5, 3
    )
    found = {one.op.name.removeprefix("embedding_attention_seq2seq/") for one in
             tf.trainable_variables()}  # fmt: skip
    decoder = "embedding_attention_decoder/"
    assert found == {
        "rnn/embedding_wrapper/embedding",
        "rnn/embedding_wrapper/gru_cell/gates/kernel",
        "rnn/embedding_wrapper/gru_cell/gates/bias",
        "rnn/embedding_wrapper/gru_cell/candidate/kernel",
        "rnn/embedding_wrapper/gru_cell/candidate/bias",
        f"{decoder}embedding",
        *(
            f"{decoder}attention_decoder/{name}"
            for name in (
                "AttnW_0", "AttnV_0", "kernel", "bias",
                "Attention_0/kernel", "Attention_0/bias",
                "AttnOutputProjection/kernel", "AttnOutputProjection/bias",
                "output_projection_wrapper/kernel", "output_projection_wrapper/bias",
                "output_projection_wrapper/gru_cell/gates/kernel",
                "output_projection_wrapper/gru_cell/gates/bias",
                "output_projection_wrapper/gru_cell/candidate/kernel",
                "output_projection_wrapper/gru_cell/candidate/bias",
            )
        ),
    }  # fmt: skip


def test_plain_and_tied_models_run_their_cells(tf: Any) -> None:
    """A tied decoder goes on with the encoder's weights: it is one network."""
    legacy, steps = tf.contrib.legacy_seq2seq, [tf.random_uniform([2, 3], seed=n) for n in range(4)]
    cell = tf.nn.rnn_cell.GRUCell(3)
    tied, _ = legacy.tied_rnn_seq2seq(steps[:2], steps[2:], cell)
    with tf.variable_scope("combined_tied_rnn_seq2seq", reuse=True):
        whole, _ = tf.nn.static_rnn(cell, steps, dtype=tf.float32, scope="tied_rnn_seq2seq")
    plain, _ = legacy.basic_rnn_seq2seq(steps[:2], steps[2:], tf.nn.rnn_cell.GRUCell(3))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        got, want, other = session.run([tied, whole[2:], plain])
    np.testing.assert_allclose(got, want, rtol=1e-6)
    assert len(other) == 2


def test_one_encoder_has_several_decoders(tf: Any) -> None:
    """By name; other names are refused."""
    legacy, cell = tf.contrib.legacy_seq2seq, tf.nn.rnn_cell.GRUCell
    inputs = {"a": _ids(tf, 2), "b": _ids(tf, 3)}
    outputs, states = legacy.one2many_rnn_seq2seq(
        _ids(tf, 3), inputs, cell(3), {"a": cell(3), "b": cell(3)}, 4, {"a": 5, "b": 6}, 2,
        feed_previous=tf.constant(True),
    )  # fmt: skip
    assert [len(outputs[name]) for name in "ab"] == [2, 3]
    assert outputs["b"][0].shape.as_list() == [2, 6]
    assert set(states) == {"a", "b"}
    with pytest.raises(ValueError, match="keys of dec_cells_dict"):
        legacy.one2many_rnn_seq2seq(_ids(tf, 1), inputs, cell(3), {"a": cell(3)}, 4, {}, 2)


def test_losses_are_weighted_by_example(tf: Any) -> None:
    """And averaged over time and batch."""
    legacy, rng = tf.contrib.legacy_seq2seq, np.random.default_rng(2)
    logits = rng.normal(size=(3, 2, 4)).astype(np.float32)
    targets, weights = np.int32([[0, 1], [2, 3], [1, 1]]), np.float32([[1, 0], [1, 0.5], [2, 0]])
    given = [[tf.constant(one) for one in all_] for all_ in (logits, targets, weights)]
    with tf.Session() as session:
        rows, mean = session.run(
            [legacy.sequence_loss_by_example(*given), legacy.sequence_loss(*given)]
        )
    entropy = (
        np.log(np.exp(logits).sum(-1)) - np.take_along_axis(logits, targets[..., None], 2)[..., 0]
    )
    want = (entropy * weights).sum(0) / weights.sum(0)
    np.testing.assert_allclose(rows, want, rtol=1e-5)
    assert mean == pytest.approx(want.mean(), rel=1e-5)
    with pytest.raises(ValueError, match="must be the same"):
        legacy.sequence_loss(given[0], given[1][:1], given[2])


def test_buckets_share_variables(tf: Any) -> None:
    """Each has the outputs of its length; too few steps are refused."""
    legacy = tf.contrib.legacy_seq2seq

    def model(encoded: list[Any], decoded: list[Any]) -> Any:
        cell = tf.nn.rnn_cell.GRUCell(3)
        return legacy.embedding_rnn_seq2seq(encoded, decoded, cell, 4, 4, 3)

    weights = [tf.ones([2])] * 4
    outputs, losses = legacy.model_with_buckets(
        _ids(tf, 4), _ids(tf, 4), _ids(tf, 4), weights, [(2, 3), (4, 4)], model
    )
    assert [len(one) for one in outputs] == [3, 4]
    assert len(losses) == 2
    names = [one.op.name for one in tf.trainable_variables()]
    assert len(set(names)) == len(names) == 12
    with pytest.raises(ValueError, match="last bucket"):
        legacy.model_with_buckets([], [], [], [], [(2, 3)], model)
