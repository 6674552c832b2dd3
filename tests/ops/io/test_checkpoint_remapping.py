"""Matrices of a checkpoint for another vocabulary; the expected results are TensorFlow's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tfnb as tf

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ops = tf.raw_ops


@pytest.fixture
def sess() -> Iterator[tf.Session]:
    """A session on a graph of its own."""
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


@pytest.fixture
def vocabularies(tmp_path: Path) -> Path:
    """Write a folder with the files new, old and twice."""
    (tmp_path / "new").write_text("a\nb\nc\nd\n")
    (tmp_path / "old").write_text("c\nx\na\ny\nd\n")
    (tmp_path / "twice").write_text("c\nx\nc\n")
    return tmp_path


def remapped(sess: tf.Session, folder: Path, new: str, old: str, *numbers: int) -> Any:
    """Return the op's result for an offset, a count and optionally the old vocabulary's size."""
    names = ("new_vocab_offset", "num_new_vocab", "old_vocab_size")
    found = ops.GenerateVocabRemapping(
        new_vocab_file=str(folder / new),
        old_vocab_file=str(folder / old),
        **dict(zip(names, numbers, strict=False)),
    )
    remapping, present = sess.run(found)
    return remapping.tolist(), int(present)


def test_words_are_found_in_the_old_vocabulary(sess: tf.Session, vocabularies: Path) -> None:
    """The result has their lines in the old vocabulary, or -1, and the number found."""
    assert remapped(sess, vocabularies, "new", "old", 0, 4) == ([2, -1, 0, 4], 3)
    assert remapped(sess, vocabularies, "new", "old", 1, 2) == ([-1, 0], 1)
    assert remapped(sess, vocabularies, "new", "old", 0, 4, 2) == ([-1, -1, 0, -1], 1)
    assert remapped(sess, vocabularies, "new", "old", 0, 0) == ([], 0)
    assert remapped(sess, vocabularies, "twice", "new", 0, 3) == ([2, -1, 2], 2)


@pytest.mark.parametrize(
    ("new", "old", "numbers", "error", "message"),
    [
        ("new", "old", (2, 4), tf.errors.InvalidArgumentError, "must be larger than last"),
        ("new", "old", (0, 4, 9), tf.errors.InvalidArgumentError, "expected 9 but got 5"),
        ("new", "twice", (0, 4), tf.errors.FailedPreconditionError, "different value"),
        ("none", "old", (0, 4), tf.errors.NotFoundError, "No such file"),
    ],
)
def test_bad_vocabularies_are_refused(
    sess: tf.Session, vocabularies: Path, new: str, old: str, numbers: Any, error: Any, message: str
) -> None:
    """The error's class is TensorFlow's."""
    with pytest.raises(error, match=message):
        remapped(sess, vocabularies, new, old, *numbers)


@pytest.fixture
def checkpoint(sess: tf.Session, tmp_path: Path) -> str:
    """A checkpoint of a matrix, a vector and a matrix of doubles."""
    variables = [
        tf.get_variable("matrix", initializer=np.arange(12, dtype=np.float32).reshape(4, 3)),
        tf.get_variable("vector", initializer=np.arange(3, dtype=np.float32)),
        tf.get_variable("doubles", initializer=np.zeros((2, 2))),
    ]
    sess.run(tf.global_variables_initializer())
    return str(tf.train.Saver(variables).save(sess, str(tmp_path / "saved")))


def loaded(
    sess: tf.Session, path: str, rows: Any, columns: Any, values: Any, name: str, size: Any
) -> Any:
    """Return the matrix that the op makes."""
    return sess.run(
        ops.LoadAndRemapMatrix(
            ckpt_path=path,
            old_tensor_name=name,
            row_remapping=np.array(rows, np.int64),
            col_remapping=np.array(columns, np.int64),
            initializing_values=np.array(values, np.float32),
            num_rows=size[0],
            num_cols=size[1],
        )
    ).tolist()


def test_rows_and_columns_are_rearranged(sess: tf.Session, checkpoint: str) -> None:
    """New rows and columns get the given values, row by row."""
    found = loaded(sess, checkpoint, [2, 0], [], [], "matrix", (2, 3))
    assert found == [[6, 7, 8], [0, 1, 2]]
    found = loaded(sess, checkpoint, [2, -1, 0], [], [7, 8, 9], "matrix", (3, 3))
    assert found == [[6, 7, 8], [7, 8, 9], [0, 1, 2]]
    found = loaded(sess, checkpoint, [2, -1], [1, -1], [7, 8, 9], "matrix", (2, 2))
    assert found == [[7, 7], [8, 9]]
    assert loaded(sess, checkpoint, [3, 1], [2, 0], [], "matrix", (2, 2)) == [[11, 9], [5, 3]]


_INVALID = tf.errors.InvalidArgumentError


@pytest.mark.parametrize(
    ("rows", "columns", "values", "name", "size", "error", "message"),
    [
        ([2, -1], [1, -1], [7, 8], "matrix", (2, 2), _INVALID, "more missing values remain"),
        ([2, -1], [1, -1], [7] * 4, "matrix", (2, 2), _INVALID, "only 3 elements were used"),
        ([2, 2], [], [], "matrix", (2, 3), tf.errors.UnimplementedError, "both new ID 0 and 1"),
        ([2, 0], [], [], "matrix", (3, 3), _INVALID, "equal to num_rows=3"),
        ([2, 0], [0], [], "matrix", (2, 3), _INVALID, "equal to num_cols=3"),
        ([0], [], [], "nothing", (1, 3), tf.errors.NotFoundError, "Key nothing not found"),
        ([0], [], [], "vector", (1, 3), _INVALID, "expected shape of rank 2"),
        ([0], [], [], "doubles", (1, 2), _INVALID, "expected type float"),
        ([0], [], [], "matrix", (1, 2), _INVALID, "equal to num_cols=2"),
        ([0], [7], [], "matrix", (1, 1), _INVALID, "has column 7"),
        ([9], [], [], "matrix", (1, 3), tf.errors.InternalError, "out of bounds"),
    ],
)
def test_bad_remappings_are_refused(
    sess: tf.Session,
    checkpoint: str,
    rows: Any,
    columns: Any,
    values: Any,
    name: str,
    size: Any,
    error: Any,
    message: str,
) -> None:
    """The error's class is TensorFlow's; a column beyond the tensor is refused, too."""
    with pytest.raises(error, match=message):
        loaded(sess, checkpoint, rows, columns, values, name, size)
