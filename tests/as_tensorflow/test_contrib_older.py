"""Small parts of `tf.contrib` with earlier forms: `deprecated`, `nn`, `hooks`, the ops of sound."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

from tfnb.as_tensorflow.contrib_modules import CONTRIB, MISSING_PARTS

pytestmark = pytest.mark.usefixtures("as_tensorflow")


@pytest.fixture
def tf() -> Any:
    """Return TensorFlow as a program gets it, with a graph of the test's own as the default."""
    tf = importlib.import_module("tensorflow")
    with tf.Graph().as_default():
        tf.set_random_seed(3)
        yield tf


def test_ops_of_sound_are_where_programs_import_them(tf: Any) -> None:
    """As DeepSpeech and the example of speech commands do, by position and by keyword."""
    ops = importlib.import_module("tensorflow.contrib.framework.python.ops")
    audio = importlib.import_module("tensorflow.contrib.framework.python.ops.audio_ops")
    rate = 16000
    wave = np.sin(np.arange(1024, dtype=np.float32) / 5)[:, None]
    decoded = audio.decode_wav(audio.encode_wav(wave, rate), desired_channels=1)
    seen = audio.audio_spectrogram(
        decoded.audio, window_size=512, stride=256, magnitude_squared=True
    )
    found = audio.mfcc(seen, decoded.sample_rate, dct_coefficient_count=26)
    expected = tf.raw_ops.Mfcc(
        spectrogram=tf.raw_ops.AudioSpectrogram(
            input=decoded.audio, window_size=512, stride=256, magnitude_squared=True
        ),
        sample_rate=rate,
        dct_coefficient_count=26,
    )
    with tf.Session() as session:
        one, other, at = session.run([found, expected, decoded.sample_rate])

    assert ops.audio_ops.mfcc is audio.mfcc
    assert at == rate
    assert one.shape == (1, 3, 26)
    np.testing.assert_array_equal(one, other)


def test_summaries_of_the_older_form_take_their_tag_first(tf: Any) -> None:
    """All six functions of `tf.contrib.deprecated`."""
    older = importlib.import_module("tensorflow.contrib.deprecated")
    made = [
        older.scalar_summary("loss", 2.5),
        older.histogram_summary("weights", [1.0, 2.0]),
        older.image_summary("pictures", np.zeros((1, 2, 2, 3), np.float32)),
        older.audio_summary("sound", np.zeros((1, 8), np.float32), 8000.0),
    ]
    merged = older.merge_summary(made)
    everything = older.merge_all_summaries()
    with tf.Session() as session:
        one, other = session.run([merged, everything])

    assert one == other
    tags = [value.tag for value in tf.Summary.FromString(one).value]
    assert tags == ["loss", "weights", "pictures/image/0", "sound/audio/0"]


def test_losses_whose_logits_come_first(tf: Any) -> None:
    """The values are those of the functions with keywords."""
    nn = importlib.import_module("tensorflow.contrib.nn")
    logits = np.array([[1.0, -2.0, 0.5], [0.0, 3.0, 1.0]], np.float32)
    shares = np.array([[0.2, 0.3, 0.5], [1.0, 0.0, 0.0]], np.float32)
    pairs = [
        (
            nn.deprecated_flipped_softmax_cross_entropy_with_logits(logits, shares),
            tf.nn.softmax_cross_entropy_with_logits_v2(labels=shares, logits=logits),
        ),
        (
            nn.deprecated_flipped_sparse_softmax_cross_entropy_with_logits(logits, [2, 0]),
            tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[2, 0], logits=logits),
        ),
        (
            nn.deprecated_flipped_sigmoid_cross_entropy_with_logits(logits, shares),
            tf.nn.sigmoid_cross_entropy_with_logits(labels=shares, logits=logits),
        ),
    ]
    with tf.Session() as session:
        for found, expected in session.run(pairs):
            np.testing.assert_array_equal(found, expected)


def test_a_sampled_loss_of_one_class_a_row(tf: Any) -> None:
    """With every class drawn once, it is the loss over all classes."""
    nn = importlib.import_module("tensorflow.contrib.nn")
    rows = np.random.RandomState(0)
    weights = rows.randn(5, 3).astype(np.float32)
    biases = rows.randn(5).astype(np.float32)
    inputs = rows.randn(2, 3).astype(np.float32)
    drawn = (np.arange(5, dtype=np.int64), np.ones([2, 1], np.float32), np.ones(5, np.float32))
    loss = nn.sampled_sparse_softmax_loss(
        weights, biases, [[1], [4]], inputs, 5, 5, sampled_values=drawn
    )
    whole = tf.nn.sparse_softmax_cross_entropy_with_logits(
        labels=[1, 4], logits=inputs @ weights.T + biases
    )
    with tf.Session() as session:
        found, expected = session.run([loss, whole])

    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_scaled_softplus_and_the_least_elements(tf: Any) -> None:
    """Values, derivatives by both arguments, a clip, and the n-th element of each row."""
    nn = importlib.import_module("tensorflow.contrib.nn")
    x, alpha = tf.constant([-1.0, 0.5, 90.0]), tf.constant(2.0)
    y = nn.scaled_softplus(x, alpha)
    by_x, by_alpha = tf.gradients(y, [x, alpha])
    with tf.Session() as session:
        value, slope, other, clipped, third = session.run(
            [y, by_x, by_alpha, nn.scaled_softplus(x, alpha, clip=3), nn.nth_element([4, 1, 3], 2)]
        )

    at = np.array([-1.0, 0.5, 90.0])
    sigmoid, softplus = 1 / (1 + np.exp(-at / 2)), np.log1p(np.exp(at / 2))
    np.testing.assert_allclose(value, 2 * softplus, rtol=1e-6)
    np.testing.assert_allclose(slope, sigmoid, rtol=1e-6)
    np.testing.assert_allclose(other, np.sum(softplus - sigmoid * at / 2), rtol=1e-5)
    np.testing.assert_allclose(clipped, np.minimum(2 * softplus, 3), rtol=1e-6)
    assert third == 4


def test_dropout_of_selu_keeps_mean_and_variance(tf: Any) -> None:
    """Many normal numbers keep them; a probability of one changes nothing, others are refused."""
    nn = importlib.import_module("tensorflow.contrib.nn")
    numbers = np.random.RandomState(1).randn(200, 100).astype(np.float32)
    after = nn.alpha_dropout(numbers, 0.7, seed=5)
    with tf.Session() as session:
        found, same = session.run([after, nn.alpha_dropout(numbers, 1.0)])

    assert abs(found.mean()) < 0.05
    assert abs(found.var() - 1) < 0.05
    values, counts = np.unique(found, return_counts=True)
    assert 0.25 < counts.max() / found.size < 0.35
    assert values[counts.argmax()] < -1
    np.testing.assert_array_equal(same, numbers)
    with pytest.raises(ValueError, match=r"in the range \(0, 1\], got 0"):
        nn.alpha_dropout(numbers, 0.0)


def test_a_part_that_is_missing_names_what_to_use() -> None:
    """None of them is there as well, and each has advice."""
    assert not MISSING_PARTS.keys() & CONTRIB.keys()
    with pytest.raises(ModuleNotFoundError, match=r"use tf\.train\.Checkpoint and"):
        importlib.import_module("tensorflow.contrib.checkpoint")
    contrib = importlib.import_module("tensorflow.contrib")
    with pytest.raises(AttributeError, match=r"use tf\.estimator\.BoostedTreesClassifier"):
        contrib.tensor_forest()


def test_the_hook_of_timelines_has_an_older_name(tf: Any) -> None:
    """`tf.contrib.hooks.ProfilerHook`."""
    assert tf.contrib.hooks.ProfilerHook is tf.train.ProfilerHook


@pytest.mark.parametrize("strategy", ["mod", "div"])
def test_the_most_probable_drawn_classes_are_kept(tf: Any, strategy: str) -> None:
    """The loss is the sampled one of these; a row's own classes are no candidates."""
    nn = importlib.import_module("tensorflow.contrib.nn")
    weights = np.arange(50, dtype=np.float32).reshape(10, 5) / 10
    whole = [weights[0::2], weights[1::2]] if strategy == "mod" else [weights[:5], weights[5:]]
    biases, inputs = np.zeros(10, np.float32), np.ones((2, 5), np.float32)
    labels = np.array([[0, 7], [1, 7]], np.int64)
    counts = np.full([2, 2], 0.5, np.float32)

    def drawn(classes: list[int]) -> tuple[Any, Any, Any]:
        return np.array(classes, np.int64), counts, np.full(len(classes), 0.5, np.float32)

    found = nn.rank_sampled_softmax_loss(
        whole, biases, labels, inputs, 5, 3, 10, 2, drawn([3, 4, 5, 6, 7]), 1.0, True, strategy
    )
    expected = tf.nn.sampled_softmax_loss(
        weights, biases, labels, inputs, 3, 10, 2, drawn([4, 5, 6]), True, "div"
    )
    with tf.Session() as session:
        one, other = session.run([found, expected])

    np.testing.assert_allclose(one, other, rtol=1e-6)
    with pytest.raises(ValueError, match=r"num_resampled \(3\) must be less than num_sampled"):
        nn.rank_sampled_softmax_loss(
            weights, biases, labels, inputs, 3, 3, 10, 2, None, 1.0, True, strategy
        )
    with pytest.raises(ValueError, match=r"unsupported partition_strategy \(None\)"):
        nn.rank_sampled_softmax_loss(
            weights, biases, labels, inputs, 5, 3, 10, 2, None, 1.0, True, None
        )
