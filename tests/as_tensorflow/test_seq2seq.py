"""`tf.contrib.seq2seq`: decoders against loops in NumPy and against exhaustive searches."""

from __future__ import annotations

import importlib
import itertools
from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.usefixtures("as_tensorflow")


@pytest.fixture
def tf() -> Any:
    """Return TensorFlow as a program gets it, with a graph of the test's own as the default."""
    tf = importlib.import_module("tensorflow")
    with tf.Graph().as_default():
        tf.set_random_seed(1)
        yield tf


def _values(tf: Any, fetches: Any) -> Any:
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches)


def _wave(*shape: int) -> Any:
    return np.sin(np.arange(np.prod(shape), dtype=np.float32) * 1.7).reshape(shape)


def _softmax(x: Any) -> Any:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def test_training_decoder_gives_what_dynamic_rnn_gives(tf: Any) -> None:
    """Up to each sequence's length; outputs behind it are zeros, and lengths are returned."""
    seq2seq = tf.contrib.seq2seq
    inputs, lengths = tf.constant(_wave(3, 4, 2)), [4, 2, 3]
    cell = tf.nn.rnn_cell.GRUCell(5)
    with tf.variable_scope("decoder") as scope:
        expected, last = tf.nn.dynamic_rnn(cell, inputs, lengths, dtype=tf.float32, scope=scope)
    helper = seq2seq.TrainingHelper(inputs, lengths)
    decoder = seq2seq.BasicDecoder(cell, helper, cell.zero_state(3, tf.float32))
    with tf.variable_scope(scope, reuse=True):
        outputs, state, found = seq2seq.dynamic_decode(decoder, impute_finished=True, scope=scope)
    got, want, got_state, want_state, sizes, ids = _values(
        tf, [outputs.rnn_output, expected, state, last, found, outputs.sample_id]
    )

    np.testing.assert_allclose(got, want, rtol=1e-6)
    np.testing.assert_allclose(got_state, want_state, rtol=1e-6)
    assert sizes.tolist() == lengths
    np.testing.assert_array_equal(ids[0], want[0].argmax(-1))


def test_steps_are_limited_and_time_can_be_the_first_dimension(tf: Any) -> None:
    """`maximum_iterations` ends the loop."""
    seq2seq = tf.contrib.seq2seq
    cell = tf.nn.rnn_cell.BasicRNNCell(3)
    helper = seq2seq.TrainingHelper(tf.constant(_wave(2, 6, 3)), [6, 6])
    decoder = seq2seq.BasicDecoder(cell, helper, cell.zero_state(2, tf.float32))
    outputs, _, lengths = seq2seq.dynamic_decode(
        decoder, output_time_major=True, maximum_iterations=4
    )
    got, sizes = _values(tf, [outputs.rnn_output, lengths])

    assert got.shape == (4, 2, 3)
    assert sizes.tolist() == [4, 4]


class _Table:
    """A cell without weights: the logits of the next id depend on the last one only."""

    def __new__(cls, tf: Any, logits: Any) -> Any:
        class Cell(tf.nn.rnn_cell.RNNCell):  # type: ignore[misc, name-defined]
            state_size = 1
            output_size = len(logits)

            def call(self, inputs: Any, state: Any) -> Any:
                return tf.matmul(inputs, tf.constant(logits)), state + 1

        return Cell()


def test_greedy_decoding_follows_the_largest_logit_until_the_end(tf: Any) -> None:
    """Each sequence ends at its own length."""
    seq2seq = tf.contrib.seq2seq
    logits = np.full((4, 4), -1.0, np.float32)
    for one, after in ((1, 2), (2, 3), (3, 0), (0, 0)):
        logits[one, after] = 1.0
    cell = _Table(tf, logits)
    helper = seq2seq.GreedyEmbeddingHelper(tf.eye(4), [1, 3], 0)
    decoder = seq2seq.BasicDecoder(cell, helper, cell.zero_state(2, tf.float32))
    outputs, _, lengths = seq2seq.dynamic_decode(decoder, impute_finished=True)
    ids, sizes = _values(tf, [outputs.sample_id, lengths])

    assert ids.tolist() == [[2, 3, 0], [0, 0, 0]]
    assert sizes.tolist() == [3, 1]


@pytest.mark.parametrize("helper", ["sample", "inference", "custom"])
def test_other_helpers_feed_samples_back(tf: Any, helper: str) -> None:
    """With logits that leave no choice, all of them count up to the end."""
    seq2seq = tf.contrib.seq2seq
    logits = np.full((5, 5), -100.0, np.float32)
    for one in range(5):
        logits[one, (one + 1) % 5] = 100.0
    cell, table = _Table(tf, logits), tf.eye(5)
    if helper == "sample":
        made = seq2seq.SampleEmbeddingHelper(table, [1, 2], 0, softmax_temperature=0.5, seed=3)
    elif helper == "inference":
        made = seq2seq.InferenceHelper(
            sample_fn=lambda outputs: tf.argmax(outputs, -1, output_type=tf.int32),
            sample_shape=[],
            sample_dtype=tf.int32,
            start_inputs=tf.gather(table, [1, 2]),
            end_fn=lambda ids: tf.equal(ids, 0),
            next_inputs_fn=lambda ids: tf.gather(table, ids),
        )
    else:
        made = seq2seq.CustomHelper(
            lambda: (tf.constant([False, False]), tf.gather(table, [1, 2])),
            lambda time, outputs, state: tf.argmax(outputs, -1, output_type=tf.int32),
            lambda time, outputs, state, sample_ids: (
                tf.equal(sample_ids, 0), tf.gather(table, sample_ids), state,
            ),
        )  # fmt: skip
    decoder = seq2seq.BasicDecoder(cell, made, cell.zero_state(2, tf.float32))
    outputs, _, lengths = seq2seq.dynamic_decode(decoder, maximum_iterations=9)
    ids, sizes = _values(tf, [outputs.sample_id, lengths])

    assert sizes.tolist() == [4, 3]
    assert ids[0].tolist() == [2, 3, 4, 0]


@pytest.mark.parametrize(("probability", "sampled"), [(0.0, False), (1.0, True)])
def test_scheduled_sampling_mixes_known_inputs_with_samples(
    tf: Any, probability: float, sampled: bool
) -> None:
    """Never, or always: the next inputs are the known ones, or embeddings of what was drawn."""
    seq2seq = tf.contrib.seq2seq
    inputs = tf.constant(_wave(2, 3, 4))
    helper = seq2seq.ScheduledEmbeddingTrainingHelper(
        inputs, [3, 3], 10 * tf.eye(4), probability, seed=1, scheduling_seed=2
    )
    outputs = tf.constant(np.float32([[-99, 99, -99, -99], [99, -99, -99, -99]]))
    ids = helper.sample(tf.constant(0), outputs, ())
    _, given, _ = helper.next_inputs(tf.constant(0), outputs, (), ids)
    drawn, got = _values(tf, [ids, given])

    want = 10 * np.eye(4)[[1, 0]] if sampled else _wave(2, 3, 4)[:, 1]
    assert drawn.tolist() == ([1, 0] if sampled else [-1, -1])
    np.testing.assert_allclose(got, want, rtol=1e-6)


def test_scheduled_outputs_are_joined_to_auxiliary_inputs(tf: Any) -> None:
    """A sequence that is sampled gets its output, changed by a function, and the auxiliary."""
    seq2seq = tf.contrib.seq2seq
    more = _wave(2, 3, 1)
    helper = seq2seq.ScheduledOutputTrainingHelper(
        tf.constant(_wave(2, 3, 2)), [3, 3], tf.constant([0.0, 1.0]), seed=1,
        next_inputs_fn=lambda outputs: -outputs, auxiliary_inputs=tf.constant(more),
    )  # fmt: skip
    outputs = tf.constant(np.float32([[1, 2], [3, 4]]))
    _, given, _ = helper.next_inputs(
        tf.constant(0), outputs, (), helper.sample(tf.constant(0), outputs, ())
    )
    got = _values(tf, given)

    np.testing.assert_allclose(got[0], [*_wave(2, 3, 2)[0, 1], *more[0, 1]], rtol=1e-6)
    np.testing.assert_allclose(got[1], [-3, -4, *more[1, 1]], rtol=1e-6)


def _beams(logits: Any, start: int, end: int, steps: int) -> list[tuple[float, tuple[int, ...]]]:
    """Return all sequences with their logarithms of probabilities, best first."""
    logs = np.log(_softmax(logits.astype(np.float64)))
    found = {}
    for ids in itertools.product(range(len(logits)), repeat=steps):
        if end in ids:
            ids = ids[: ids.index(end) + 1]
        path = (start, *ids)
        found[ids] = float(sum(logs[a, b] for a, b in itertools.pairwise(path)))
    return sorted(((score, ids) for ids, score in found.items()), reverse=True)


def test_a_beam_search_that_is_wide_enough_is_exhaustive(tf: Any) -> None:
    """The best beams are the best of all sequences, in their order."""
    seq2seq = tf.contrib.seq2seq
    logits, width, steps = _wave(4, 4) * 2, 64, 3
    cell = _Table(tf, logits)
    decoder = seq2seq.BeamSearchDecoder(
        cell, tf.eye(4), [1, 3], 0, cell.zero_state(2 * width, tf.float32), width
    )
    outputs, _, _ = seq2seq.dynamic_decode(decoder, maximum_iterations=steps)
    ids, scores = _values(tf, [outputs.predicted_ids, outputs.beam_search_decoder_output.scores])

    for row, start in enumerate((1, 3)):
        best = _beams(logits, start, 0, steps)[:5]
        for beam, (score, want) in enumerate(best):
            got = ids[row, :, beam].tolist()
            assert got[: len(want)] == list(want)
            assert scores[row, -1, beam] == pytest.approx(score, rel=1e-5)


def test_a_penalty_of_length_divides_the_scores(tf: Any) -> None:
    """By ((5 + length) / 6) ** weight, where the end does not count."""
    seq2seq = tf.contrib.seq2seq
    logits, width, steps, weight = _wave(3, 3), 27, 3, 1.5
    cell = _Table(tf, logits)
    decoder = seq2seq.BeamSearchDecoder(
        cell, tf.eye(3), [1], 0, cell.zero_state(width, tf.float32), width,
        length_penalty_weight=weight,
    )  # fmt: skip
    outputs, state, _ = seq2seq.dynamic_decode(decoder, maximum_iterations=steps)
    ids, scores, lengths = _values(
        tf,
        [outputs.predicted_ids, outputs.beam_search_decoder_output.scores, state.lengths],
    )

    found = {ids: score for score, ids in _beams(logits, 1, 0, steps)}
    for beam in range(5):
        path = tuple(ids[0, :, beam].tolist())
        path = path[: path.index(0) + 1] if 0 in path else path
        counted = len(path) - (0 in path)
        want = found[path] / ((5 + counted) / 6) ** weight
        assert scores[0, -1, beam] == pytest.approx(want, rel=1e-5)
    assert lengths.shape == (1, width)


def test_gather_tree_follows_parents_and_fills_behind_the_end(tf: Any) -> None:
    """The first end closes a beam; steps behind the longest sequence do not count."""
    seq2seq = tf.contrib.seq2seq
    steps = np.int32([[[1, 2]], [[3, 9]], [[4, 5]], [[7, 8]]])
    parents = np.int32([[[0, 0]], [[1, 0]], [[1, 0]], [[0, 1]]])
    found = seq2seq.gather_tree(steps, parents, [3], 9)

    assert _values(tf, found)[:, 0].T.tolist() == [[1, 9, 9, 9], [2, 3, 5, 9]]


def test_a_parent_that_is_no_beam_is_refused(tf: Any) -> None:
    """With TensorFlow's class of error."""
    found = tf.contrib.seq2seq.gather_tree([[[1, 2]]] * 2, [[[0, 5]]] * 2, [2], 9)
    with pytest.raises(tf.errors.InvalidArgumentError):
        _values(tf, found)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("LuongAttention", {}),
        ("LuongAttention", {"scale": True}),
        ("BahdanauAttention", {}),
        ("BahdanauAttention", {"normalize": True}),
        ("LuongMonotonicAttention", {"scale": True, "score_bias_init": -0.3}),
        ("BahdanauMonotonicAttention", {"normalize": True, "mode": "hard"}),
        ("BahdanauMonotonicAttention", {"mode": "recursive"}),
    ],
)
def test_alignments_follow_the_formulas(tf: Any, name: str, options: dict[str, Any]) -> None:
    """Rows behind a memory's length get none; variables have TensorFlow's names."""
    memory, query, lengths = _wave(2, 5, 3), _wave(2, 4) + 0.3, [5, 3]
    mechanism = getattr(tf.contrib.seq2seq, name)(4, tf.constant(memory), lengths, **options)
    before = mechanism.initial_state(2, tf.float32)
    alignments, _ = mechanism(tf.constant(query), before)
    made = {one.op.name: one for one in tf.trainable_variables()}
    got, values, first = _values(tf, [alignments, made, before])

    mask = np.arange(5)[None] < np.array(lengths)[:, None]
    keys = (memory * mask[..., None]) @ values["memory_layer/kernel"]
    if name.startswith("Luong"):
        scope = "luong_monotonic_attention" if "Monotonic" in name else "luong_attention"
        score = (keys * query[:, None]).sum(-1) * values.get(f"{scope}/attention_g", 1)
    else:
        scope = "bahdanau_monotonic_attention" if "Monotonic" in name else "bahdanau_attention"
        query = query @ values[f"{scope}/query_layer/kernel"]
        v = values[f"{scope}/attention_v"]
        if options.get("normalize"):
            v = v * values[f"{scope}/attention_g"] / np.sqrt((v**2).sum())
        bias = values.get(f"{scope}/attention_b", 0)
        score = (v * np.tanh(keys + query[:, None] + bias)).sum(-1)
    if "Monotonic" not in name:
        want = _softmax(np.where(mask, score, -np.inf))
    else:
        score = np.where(mask, score + values[f"{scope}/attention_score_bias"], -np.inf)
        stop = (score > 0).astype(float) if options.get("mode") == "hard" else _sigmoid(score)
        want = _monotonic(stop, first)
    np.testing.assert_allclose(got, want, atol=1e-6)
    assert not got[1, 3:].any()


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def _monotonic(stop: Any, before: Any) -> Any:
    """Return the probability of each row by its definition: from where, and not stopped since."""
    found = np.zeros_like(stop)
    for to in range(stop.shape[1]):
        for start in range(to + 1):
            found[:, to] += before[:, start] * np.prod(1 - stop[:, start:to], 1) * stop[:, to]
    return found


def test_monotonic_modes_agree(tf: Any) -> None:
    """On probabilities that are not extreme; another mode is refused."""
    stop = (np.abs(_wave(3, 6)) * 0.8).astype(np.float32)
    before = _softmax(_wave(3, 6))
    attention = tf.contrib.seq2seq.monotonic_attention
    both = [attention(stop, before, mode) for mode in ("recursive", "parallel")]
    for got in _values(tf, both):
        np.testing.assert_allclose(got, _monotonic(stop, before), atol=1e-6)
    with pytest.raises(ValueError, match="'recursive', 'parallel', or 'hard'"):
        attention(stop, before, "soft")


def test_an_attention_wrapper_reads_its_memory_and_keeps_alignments(tf: Any) -> None:
    """Output, context and history fit together, and gradients reach all variables."""
    seq2seq = tf.contrib.seq2seq
    memory = tf.constant(_wave(2, 4, 3))
    mechanisms = [
        seq2seq.LuongAttention(5, memory),
        seq2seq.BahdanauAttention(6, memory, memory_sequence_length=[4, 2]),
    ]
    cell = seq2seq.AttentionWrapper(
        tf.nn.rnn_cell.LSTMCell(5), mechanisms, [7, 8], alignment_history=True, name="attention"
    )
    helper = seq2seq.TrainingHelper(tf.constant(_wave(2, 3, 2)), [3, 3])
    decoder = seq2seq.BasicDecoder(
        cell, helper, cell.zero_state(2, tf.float32), output_layer=tf.layers.Dense(9)
    )
    outputs, state, _ = seq2seq.dynamic_decode(decoder)
    histories = [one.stack() for one in state.alignment_history]
    variables = tf.trainable_variables()
    gradients = tf.gradients(tf.reduce_sum(outputs.rnn_output**2), variables)
    assert all(one is not None for one in gradients)
    got, kept, last = _values(tf, [outputs.rnn_output, histories, state.alignments])

    assert got.shape == (2, 3, 9)
    for history, final in zip(kept, last, strict=True):
        np.testing.assert_allclose(history.sum(-1), np.ones((3, 2)), rtol=1e-5)
        np.testing.assert_array_equal(history[-1], final)
    assert {one.op.name for one in variables} >= {
        "memory_layer/kernel",
        "decoder/attention/lstm_cell/kernel",
        "decoder/attention/bahdanau_attention/query_layer/kernel",
        "decoder/attention/attention_layer/kernel",
        "decoder/attention/attention_layer_1/kernel",
        "decoder/dense/kernel",
    }


def test_beams_with_attention_sort_the_history_and_penalize_what_is_not_covered(tf: Any) -> None:
    """A beam's history has its own alignments, those of its ancestors in earlier steps."""
    seq2seq = tf.contrib.seq2seq
    width, batch, steps = 3, 2, 4
    memory = seq2seq.tile_batch(tf.constant(_wave(batch, 5, 3)), width)
    cell = seq2seq.AttentionWrapper(
        tf.nn.rnn_cell.GRUCell(4), seq2seq.LuongAttention(4, memory), alignment_history=True
    )
    start = cell.zero_state(batch * width, tf.float32)
    decoder = seq2seq.BeamSearchDecoder(
        cell, tf.constant(_wave(6, 2)), [1, 2], 0, start, width, tf.layers.Dense(6),
        length_penalty_weight=0.6, coverage_penalty_weight=0.2,
    )  # fmt: skip
    outputs, state, _ = seq2seq.dynamic_decode(decoder, maximum_iterations=steps)
    ids, history, last, attended = _values(
        tf,
        [
            outputs.predicted_ids,
            state.cell_state.alignment_history,
            state.cell_state.alignments,
            state.accumulated_attention_probs,
        ],
    )

    assert ids.shape == (batch, steps, width)
    assert history.shape == (steps, batch * width, 5)
    np.testing.assert_allclose(history.sum(-1), np.ones((steps, batch * width)), rtol=1e-5)
    assert last.shape == (batch, width, 5)
    assert attended.shape == (batch, width, 5)


def test_a_coverage_penalty_needs_attention(tf: Any) -> None:
    """A cell without it is refused."""
    cell = _Table(tf, _wave(3, 3))
    decoder = tf.contrib.seq2seq.BeamSearchDecoder(
        cell, tf.eye(3), [1], 0, cell.zero_state(2, tf.float32), 2, coverage_penalty_weight=0.1
    )
    with pytest.raises(ValueError, match="no cell is attentional"):
        decoder.initialize()


def test_a_memory_of_another_batch_size_is_refused_when_run(tf: Any) -> None:
    """The message names `tile_batch`."""
    seq2seq = tf.contrib.seq2seq
    memory = tf.placeholder(tf.float32, [None, 4, 3])
    cell = seq2seq.AttentionWrapper(tf.nn.rnn_cell.GRUCell(4), seq2seq.LuongAttention(4, memory))
    state = cell.zero_state(tf.placeholder_with_default(6, []), tf.float32)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        with pytest.raises(tf.errors.InvalidArgumentError, match="tile_batch"):
            session.run(state.cell_state, {memory: _wave(2, 4, 3)})


def test_cloned_states_keep_their_shapes(tf: Any) -> None:
    """Another shape is refused."""
    seq2seq = tf.contrib.seq2seq
    mechanism = seq2seq.LuongAttention(4, tf.constant(_wave(2, 4, 3)))
    cell = seq2seq.AttentionWrapper(tf.nn.rnn_cell.GRUCell(4), mechanism)
    state = cell.zero_state(2, tf.float32)
    assert state.clone(cell_state=tf.ones([2, 4])).attention is state.attention
    with pytest.raises(ValueError, match="expected to be same"):
        state.clone(cell_state=tf.ones([2, 5]))


def test_tiled_batches_repeat_rows(tf: Any) -> None:
    """Of all tensors of a structure; a scalar is refused."""
    tile = tf.contrib.seq2seq.tile_batch
    first, second = _values(tf, tile((tf.constant([1, 2]), tf.constant([[3], [4]])), 2))
    assert first.tolist() == [1, 1, 2, 2]
    assert second.tolist() == [[3], [3], [4], [4]]
    with pytest.raises(ValueError, match="rank"):
        tile(tf.constant(1), 2)


@pytest.mark.parametrize("time", ["average", "sum", "none"])
@pytest.mark.parametrize("batch", ["average", "sum", "none"])
def test_sequence_losses_follow_their_formula(tf: Any, time: str, batch: str) -> None:
    """Averages divide by weights, sums by their count."""
    logits, targets = _wave(2, 3, 4), np.int32([[1, 2, 3], [0, 3, 1]])
    weights = np.float32([[1, 0.5, 0], [2, 0, 0]])
    loss = tf.contrib.seq2seq.sequence_loss(
        tf.constant(logits), tf.constant(targets), tf.constant(weights),
        average_across_timesteps=time == "average", average_across_batch=batch == "average",
        sum_over_timesteps=time == "sum", sum_over_batch=batch == "sum",
    )  # fmt: skip
    got = _values(tf, loss)

    entropy = -np.log(np.take_along_axis(_softmax(logits), targets[..., None], -1))[..., 0]
    entropy = entropy * weights
    modes = (time, batch)
    if "average" in modes and "sum" not in modes:
        axis = None if time == batch else 0 if batch == "average" else 1
        divisor = weights.sum(axis)
    elif "sum" in modes and "average" not in modes:
        axis = None if time == batch else 0 if batch == "sum" else 1
        divisor = (weights != 0).sum(axis)
    elif modes == ("none", "none"):
        np.testing.assert_allclose(got, entropy, rtol=1e-5)
        return
    else:  # one is averaged: the sum of the other does not count
        axis = 0 if batch == "average" else 1
        divisor = weights.sum(axis)
    summed = entropy.sum(axis)
    want = np.divide(summed, divisor, out=np.zeros_like(summed), where=divisor != 0)
    np.testing.assert_allclose(got, want, rtol=1e-5)


def test_internal_names_are_in_tensorflows_files() -> None:
    """Programs derive their own mechanisms from them."""
    base = "tensorflow.contrib.seq2seq.python.ops"
    wrapper = importlib.import_module(f"{base}.attention_wrapper")
    for name in ("_bahdanau_score", "_maybe_mask_score", "_compute_attention", "_prepare_memory"):
        assert hasattr(wrapper, name)
    assert hasattr(importlib.import_module(f"{base}.helper"), "ScheduledOutputTrainingHelper")
    assert hasattr(importlib.import_module(f"{base}.beam_search_ops"), "gather_tree")
