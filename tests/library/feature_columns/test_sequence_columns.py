"""Columns of sequences, with TensorFlow's values and errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tfnb as tf
from tfnb.library.feature_columns.sequence_layers import (
    concatenate_context_input,
    sequence_input_layer,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

fc = tf.feature_column


@pytest.fixture(autouse=True)
def _graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def _features() -> dict[str, Any]:
    return {
        "t": tf.SparseTensor([[0, 0], [1, 0], [1, 1]], ["a", "b", "c"], [3, 2]),
        "n": tf.SparseTensor(
            [[0, 0], [0, 1], [1, 0], [1, 1], [1, 2], [1, 3]], [1.0, 2, 3, 4, 5, 6], [3, 4]
        ),
    }


def _run(columns: Any, features: Any = None) -> Any:
    found = sequence_input_layer(features or _features(), columns)
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        return session.run(found)


def _texts() -> Any:
    return fc.sequence_categorical_column_with_vocabulary_list("t", ["a", "b", "c"])


def test_steps_are_counted_and_joined_by_name() -> None:
    """Missing steps have the default value, or no category."""
    numbers = fc.sequence_numeric_column("n", shape=(2,), default_value=-1.0)
    values, lengths = _run([fc.indicator_column(_texts()), numbers])

    np.testing.assert_array_equal(lengths, [1, 2, 0])
    assert lengths.dtype == np.int64
    np.testing.assert_array_equal(
        values,
        [
            [[1, 2, 1, 0, 0], [-1, -1, 0, 0, 0]],
            [[3, 4, 0, 1, 0], [5, 6, 0, 0, 1]],
            [[-1, -1, 0, 0, 0], [-1, -1, 0, 0, 0]],
        ],
    )


def test_each_step_has_its_vector() -> None:
    """Ids of different steps are not combined; a shared variable is one."""
    columns = [_texts(), fc.sequence_categorical_column_with_vocabulary_list("u", ["a", "b", "c"])]
    both = fc.shared_embedding_columns(columns, 1, initializer=tf.constant_initializer([1, 2, 3]))
    features = _features() | {"u": _features()["t"]}
    values, lengths = _run(both, features)

    assert values.tolist() == [[[1, 1], [0, 0]], [[2, 2], [3, 3]], [[0, 0], [0, 0]]]
    assert lengths.tolist() == [1, 2, 0]
    assert len(tf.global_variables()) == 1


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (lambda path: fc.sequence_categorical_column_with_identity("i", 4), [[2], [0], [3]]),
        (
            lambda path: fc.sequence_categorical_column_with_hash_bucket("i", 7, tf.int64),
            [[4], [5], [6]],
        ),
        (
            lambda path: fc.sequence_categorical_column_with_vocabulary_file(
                "i", path, 4, dtype=tf.int64
            ),
            [[1], [3], [0]],
        ),
    ],
)
def test_ids_of_each_kind(column: Any, expected: Any, tmp_path: Path) -> None:
    """As those of the columns without steps."""
    path = tmp_path / "words"
    path.write_text("3\n2\n1\n0\n")
    made = column(str(path))
    features = {"i": tf.SparseTensor([[0, 0], [0, 1], [0, 2]], [2, 0, 3], [1, 3])}
    values, lengths = _run(fc.indicator_column(made), features)

    found = values[0].argmax(1)[:, None].tolist()
    plain = made.categorical_column
    assert (plain.name, plain.num_buckets) == (made.name, made.num_buckets)
    assert lengths.tolist() == [3]
    assert found == expected or "hash" in type(plain).__name__.lower()


def test_a_number_of_a_step_may_have_a_shape_of_its_own() -> None:
    """A feature with three dimensions has its steps in the second; values are normalized."""
    given = tf.SparseTensor([[0, 0, 0], [0, 0, 1], [1, 0, 0]], [1.0, 2.0, 3.0], [2, 1, 2])
    doubled = fc.sequence_numeric_column(
        "n",
        shape=2,
        normalizer_fn=lambda x: tf.SparseTensor(x.indices, x.values * 2, x.dense_shape),
    )
    values, lengths = _run([doubled], {"n": given})

    assert values.tolist() == [[[2, 4]], [[6, 0]]]
    assert lengths.tolist() == [1, 1]
    spec = fc.make_parse_example_spec([doubled, fc.embedding_column(_texts(), 2)])
    assert spec == {"n": tf.VarLenFeature(tf.float32), "t": tf.VarLenFeature(tf.string)}


def test_sequences_of_different_lengths_are_refused() -> None:
    """When the step runs."""
    given = tf.SparseTensor([[0, 0], [0, 1], [1, 0]], [1.0, 2.0, 3.0], [3, 2])
    columns = [fc.sequence_numeric_column("n"), fc.indicator_column(_texts())]
    with pytest.raises(tf.errors.InvalidArgumentError):
        _run(columns, _features() | {"n": given})


def test_the_values_of_an_example_go_to_each_step() -> None:
    """At the end."""
    sequence = tf.constant([[[1.0], [2.0]], [[3.0], [4.0]]])
    joined = concatenate_context_input(tf.constant([[7.0], [8.0]]), sequence)
    with tf.Session() as session:
        assert session.run(joined).tolist() == [[[1, 7], [2, 7]], [[3, 8], [4, 8]]]
    with pytest.raises(ValueError, match="sequence_input must have rank 3"):
        concatenate_context_input(tf.constant([[7.0]]), tf.constant([[7.0]]))


@pytest.mark.parametrize(
    ("call", "kind", "says"),
    [
        (lambda: fc.sequence_numeric_column("n", dtype=tf.string), ValueError,
         "dtype must be convertible to float. dtype: <dtype: 'string'>, key: n"),
        (lambda: fc.sequence_numeric_column("n", normalizer_fn=3), TypeError,  # type: ignore[arg-type]
         "normalizer_fn must be a callable. Given: 3"),
        (lambda: fc.sequence_numeric_column("n", shape=(0,)), ValueError,
         r"shape dimensions must be greater than 0. shape: \(0,\), key: n"),
        (lambda: fc.input_layer(_features(), [fc.indicator_column(_texts())]), ValueError,
         "In indicator_column: t_indicator. categorical_column must not be of type"),
        (lambda: fc.input_layer(_features(), [fc.embedding_column(_texts(), 2)]), ValueError,
         "In embedding_column: t_embedding. categorical_column must not be of type"),
        (lambda: _run([fc.embedding_column(_texts().categorical_column, 2)]), ValueError,
         "In embedding_column: t_embedding. categorical_column must be of type Sequence"),
        (lambda: _run([_texts()]), ValueError, "must be of type _SequenceDenseColumn"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(call: Any, kind: type[Exception], says: str) -> None:
    """With TensorFlow's text."""
    with pytest.raises(kind, match=says):
        call()
