"""``tf.RaggedTensor``, ``tf.ragged``, and functions on strings give TensorFlow's answers."""

from __future__ import annotations

import json
import lzma
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tfnb as tf
from tests.joined import in_batches
from tests.library.ragged import ragged_rows

_GOLDEN = Path(__file__).parents[2] / "golden" / "ragged.json.xz"
_STORED: dict[str, Any] = json.loads(lzma.decompress(_GOLDEN.read_bytes()))


@in_batches("row", ragged_rows.ROWS)
def test_ragged_tensors_answer_as_in_tensorflow(row: str) -> None:
    """Values, types and errors are equal; known parts of shapes are right."""
    wanted = dict(_STORED[row])
    found = json.loads(json.dumps(ragged_rows.describe(tf, row)))
    shape, wanted_shape = found.pop("shape", None), wanted.pop("shape", None)
    assert found == wanted
    if wanted_shape is not None:
        pairs = list(zip(_sizes(shape), _sizes(wanted_shape), strict=True))
        assert all(ours in ("?", theirs) for ours, theirs in pairs)


def _sizes(text: str) -> list[str]:
    return text.strip("()").rstrip(",").split(", ")


def test_every_row_is_stored() -> None:
    """Each row has an answer of TensorFlow."""
    assert set(_STORED) == set(ragged_rows.ROWS)


def test_ragged_tensors_are_fed_and_fetched() -> None:
    """Values are those of ``tf.ragged``."""
    with tf.Graph().as_default(), tf.Session() as sess:
        given = tf.ragged.placeholder(tf.float32, 2)
        value = tf.ragged.constant_value([[[1.0, 2.0]], [], [[3.0], []]], dtype=np.float32)
        assert value.ragged_rank == 2
        assert value.shape == (3, None, None)
        fetched = sess.run(given * 2.0, {given: value})
        assert isinstance(fetched, tf.ragged.RaggedTensorValue)
        assert fetched.to_list() == [[[2.0, 4.0]], [], [[6.0], []]]
        assert fetched.dtype == np.float32
        assert given.eval({given: value}).to_list() == value.to_list()
        with pytest.raises(ValueError, match="cannot be fed"):
            sess.run(given, {given: tf.ragged.constant_value([[1.0]])})
        doubled = sess.make_callable(
            given * 2.0, feed_list=[given.flat_values, *given.nested_row_splits]
        )
        assert doubled([1.0], [0, 1], [0, 1]).to_list() == [[[2.0]]]


def test_ragged_tensors_go_through_loops_and_branches() -> None:
    """The parts are loop variables."""
    with tf.Graph().as_default(), tf.Session() as sess:
        start = tf.ragged.constant([[1, 2], [], [3]])
        _, grown = tf.while_loop(
            lambda i, r: i < 2, lambda i, r: (i + 1, tf.concat([r, r[:, :1]], 1)), [0, start]
        )
        assert sess.run(grown).to_list() == [[1, 2, 1, 1], [], [3, 3, 3]]
        flag = tf.placeholder(tf.bool, [])
        chosen = tf.cond(flag, lambda: start, lambda: start * 10)
        assert sess.run(chosen, {flag: False}).to_list() == [[10, 20], [], [30]]
        assert len(tf.nest.flatten([start, start], expand_composites=True)) == 4


def test_functions_that_take_no_ragged_tensor_say_so() -> None:
    """The error has the remedy."""
    with tf.Graph().as_default():
        ragged = tf.ragged.constant([[1.0], []])
        with pytest.raises(TypeError, match=r"tf\.matmul takes no RaggedTensor: use its values"):
            tf.matmul(ragged, ragged)
        with pytest.raises(TypeError, match=r"tf\.igamma takes no RaggedTensor: use its"):
            tf.igamma(ragged, ragged)
        with pytest.raises(ValueError, match="identical ragged splits"):
            _ = ragged + tf.ragged.constant([[[1.0]]])


def test_a_bag_of_words_is_learned() -> None:
    """Embeddings of ragged ids are averaged per row, and the gradient reaches the table."""
    with tf.Graph().as_default(), tf.Session() as sess:
        words = tf.strings.unicode_split(["aab", "b", "abb"], "UTF-8")
        ids = tf.ragged.map_flat_values(lambda flat: tf.cast(tf.equal(flat, "b"), tf.int32), words)
        table = tf.get_variable("table", initializer=[[0.0], [0.0]])
        means = tf.reduce_mean(tf.nn.embedding_lookup(table, ids), axis=1)
        loss = tf.reduce_mean(tf.square(means - [[1.0], [4.0], [3.0]]))
        train = tf.train.GradientDescentOptimizer(0.5).minimize(loss)
        sess.run(tf.global_variables_initializer())
        first = sess.run(loss)
        for _ in range(50):
            sess.run(train)
        assert sess.run(loss) < 0.05 * first


@pytest.mark.parametrize(
    ("function", "wanted"),
    [
        (lambda v: tf.reduce_sum(v, 1), [3, 0, 3]),
        (lambda v: tf.concat([v, v], 1), [[1, 2, 1, 2], [], [3, 3]]),
        (lambda v: tf.add(v, 1), [[2, 3], [], [4]]),
        (lambda v: tf.gather(v, [2, 0]), [[3], [1, 2]]),
        (lambda v: tf.ragged.stack([v, v]), [[[1, 2], [], [3]]] * 2),
        (lambda v: tf.ragged.boolean_mask(v, tf.equal(v, 2)), [[2], [], []]),
        (lambda v: tf.ragged.map_flat_values(tf.negative, v), [[-1, -2], [], [-3]]),
        (lambda v: tf.gather([5, 6, 7, 8], v), [[6, 7], [], [8]]),
    ],
)
def test_fetched_ragged_values_are_arguments(function: Any, wanted: list[Any]) -> None:
    """A fetched value may be given to the functions that take a ragged tensor."""
    with tf.Graph().as_default(), tf.Session() as session:
        value = session.run(tf.ragged.constant([[1, 2], [], [3]]))
        found = session.run(function(value))
        assert (found.to_list() if hasattr(found, "to_list") else found.tolist()) == wanted


def test_a_ragged_value_is_no_tensor() -> None:
    """The error names the class and what to do."""
    with tf.Graph().as_default():
        value = tf.ragged.constant_value([[1, 2], [], [3]])
        with pytest.raises(TypeError, match="A RaggedTensorValue cannot be converted to a Tensor"):
            tf.convert_to_tensor(value)


def test_segments_of_ragged_rows_are_reduced_position_by_position() -> None:
    """Rows of one segment are reduced to a row as long as the longest of them."""
    with tf.Graph().as_default(), tf.Session() as session:
        rows = tf.ragged.constant([[1, 2], [7], [3, 4, 5]])
        total = session.run(tf.unsorted_segment_sum(rows, [1, 0, 1], 3))
        assert total.to_list() == [[7], [4, 6, 5], []]
        largest = session.run(tf.unsorted_segment_max(rows, [0, 0, 0], 1))
        assert largest.to_list() == [[7, 4, 5]]
        with pytest.raises(ValueError, match="segment_ids is ragged and data is not"):
            tf.unsorted_segment_sum([1, 2, 3], tf.ragged.constant([[0, 1], [1]]), 2)


def test_a_ragged_value_is_an_argument_beside_a_ragged_tensor() -> None:
    """Functions of several ragged tensors take values and tensors in any order."""
    with tf.Graph().as_default(), tf.Session() as session:
        value = tf.ragged.constant_value([[1], [2, 3]], dtype=np.int32)
        tensor = tf.ragged.constant([[4], [], [5, 6]])
        for given in ([tensor, value], [value, tensor]):
            joined = session.run(tf.concat(given, 0)).to_list()
            wanted = [one.to_list() if one is value else [[4], [], [5, 6]] for one in given]
            assert joined == wanted[0] + wanted[1]


def test_ragged_ids_of_rows_that_are_spread_over_several_matrices() -> None:
    """An embedding knows how its rows are spread; other functions stack a list of tensors."""
    with tf.Graph().as_default(), tf.Session() as session:
        parts = [tf.constant([[1.0], [2.0], [3.0]]), tf.constant([[4.0], [5.0], [6.0]])]
        ids = tf.ragged.constant([[0, 1], [5, 2, 3]])
        found = session.run(
            [
                tf.nn.embedding_lookup(parts, ids),
                tf.nn.embedding_lookup(parts, ids, "div"),
                tf.nn.embedding_lookup(parts, ids, max_norm=2.0),
                tf.gather(parts, tf.ragged.constant([[0], [1, 1]])),
            ]
        )
        first, second = [[1.0], [2.0], [3.0]], [[4.0], [5.0], [6.0]]
        assert [one.to_list() for one in found] == [
            [[[1.0], [4.0]], [[6.0], [2.0], [5.0]]],
            [[[1.0], [2.0]], [[6.0], [3.0], [4.0]]],
            [[[1.0], [2.0]], [[2.0], [2.0], [2.0]]],
            [[first], [second, second]],
        ]


def test_functions_on_strings_take_ragged_values() -> None:
    """As ragged tensors, which functions with patterns take, too."""
    rows = [["abc", "de"], ["f"]]
    with tf.Graph().as_default(), tf.Session() as session:
        for given in (tf.ragged.constant_value(rows), tf.ragged.constant(rows)):
            found = session.run(
                [
                    tf.strings.bytes_split(given),
                    tf.strings.unicode_decode(given, "UTF-8"),
                    tf.strings.unicode_split(given, "UTF-8"),
                    tf.strings.ngrams(given, 2),
                    tf.strings.split(given, "b", result_type="RaggedTensor"),
                    tf.strings.regex_replace(given, "[ad]", "x"),
                    tf.strings.regex_full_match(given, "a.*"),
                ]
            )
            letters = [[[b"a", b"b", b"c"], [b"d", b"e"]], [[b"f"]]]
            assert [one.to_list() for one in found] == [
                letters,
                [[[97, 98, 99], [100, 101]], [[102]]],
                letters,
                [[b"abc de"], []],
                [[[b"a", b"c"], [b"de"]], [[b"f"]]],
                [[b"xbc", b"xe"], [b"f"]],
                [[True, False], [False]],
            ]
        points = tf.ragged.constant_value([[97, 98], [99]], dtype=np.int32)
        assert session.run(tf.strings.unicode_encode(points, "UTF-8")).tolist() == [b"ab", b"c"]


def test_lengths_of_rows_may_be_of_another_integer_type() -> None:
    """They become the type of the splits; other types are refused."""
    with tf.Graph().as_default(), tf.Session() as session:
        rows = tf.constant([[1, 2, 3], [4, 5, 6]])
        for lengths in (tf.constant([2, 0]), tf.constant([2, 0], tf.int64), [2, 0]):
            made = tf.RaggedTensor.from_tensor(rows, lengths=lengths)
            assert made.row_splits.dtype == tf.int64
            assert session.run(made).to_list() == [[1, 2], []]
        with pytest.raises(TypeError, match="lengths must be an integer tensor"):
            tf.RaggedTensor.from_tensor(rows, lengths=tf.constant([2.0, 0.0]))


@pytest.mark.parametrize(
    ("make", "shape", "wanted"),
    [
        (lambda: tf.ragged.constant([], ragged_rank=2), [0, None, None], []),
        (lambda: tf.ragged.constant([[]], inner_shape=(1, 0)), [1, 0], [[]]),
        (lambda: tf.ragged.constant([], inner_shape=(0, 4)), [0, 4], []),
        (
            lambda: tf.ragged.boolean_mask(
                [[[1, 2], [3, 4]], [[5, 6], [7, 8]]],
                [[[True, False], [False, True]], [[False, False], [True, True]]],
            ),
            [2, 2, None],
            [[[1], [4]], [[], [7, 8]]],
        ),
        (
            lambda: tf.ragged.boolean_mask(
                tf.ragged.constant([[[1, 2], [3, 4]], [[5, 6]]], ragged_rank=1),
                tf.ragged.constant([[[True, False], [True, True]], [[False, True]]], ragged_rank=1),
            ),
            [2, None, None],
            [[[1], [3, 4]], [[6]]],
        ),
        (
            lambda: tf.batch_gather(tf.ragged.constant([[1, 2], [3]]), tf.constant([[1], [0]])),
            [2, 1],
            [[2], [3]],
        ),
        (
            lambda: tf.batch_gather(
                tf.constant([[1, 2], [3, 4]]), tf.ragged.constant([[0, 1], [1]])
            ),
            [2, None],
            [[1, 2], [4]],
        ),
        (
            lambda: tf.batch_gather(
                tf.ragged.constant([[[1, 2], [3]], [[4, 5, 6]]]),
                tf.ragged.constant([[[1, 0], [0]], [[2]]]),
            ),
            [2, None, None],
            [[[2, 1], [3]], [[6]]],
        ),
        (
            lambda: tf.tile(tf.ragged.constant([[1, 2], [3]]), [2, 1]),
            [4, None],
            [[1, 2], [3], [1, 2], [3]],
        ),
    ],
)
def test_shapes_and_values_of_masks_gathered_rows_and_constants(
    make: Any, shape: list[int | None], wanted: list[Any]
) -> None:
    """Dimensions may be uniform or ragged, also where the other argument's are not."""
    with tf.Graph().as_default(), tf.Session() as session:
        made = make()
        assert made.shape.as_list() == shape
        found = session.run(made)
        assert (found.to_list() if hasattr(found, "to_list") else found.tolist()) == wanted


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: tf.ragged.constant([1, 2], ragged_rank=1), "pylist has scalar values depth 1"),
        (lambda: tf.ragged.constant([[[1, 2]], [[3]]], ragged_rank=1), "inconsistent shape"),
        (lambda: tf.ragged.constant([[1], [[]]]), "greater than scalar value nesting"),
        (lambda: tf.batch_gather(tf.ragged.constant([[1]]), 0), "rank must be at least 1"),
        (
            lambda: tf.batch_gather(tf.constant([1, 2]), tf.ragged.constant([[1]])),
            "does not match params shape",
        ),
        (
            lambda: tf.batch_gather(tf.ragged.constant([[[1]]]), tf.constant([[[0]]])),
            "uniform indices dimension corresponds to ragged params dimension",
        ),
    ],
)
def test_ragged_arguments_that_do_not_fit_are_refused(make: Any, match: str) -> None:
    """When the graph is built."""
    with tf.Graph().as_default(), pytest.raises(ValueError, match=match):
        make()
