"""tf.lookup's tables: saving with the variables, and errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import tfnb as tf

if TYPE_CHECKING:
    from pathlib import Path


def _words() -> Any:
    return tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1, name="words")


def test_mutable_table_is_saved_and_restored(tmp_path: Path) -> None:
    """A Saver restores exactly the saved entries."""
    with tf.Graph().as_default(), tf.Session() as session:
        table = _words()
        session.run(table.insert(tf.constant(["a", "b"]), [1, 2]))
        path = tf.train.Saver().save(session, str(tmp_path / "model"))
    with tf.Graph().as_default(), tf.Session() as session:
        table = _words()
        saver = tf.train.Saver()
        session.run(table.insert(tf.constant(["c"]), [3]))
        saver.restore(session, path)
        assert session.run(table.lookup(tf.constant(["a", "b", "c"]))).tolist() == [1, 2, -1]


def test_keys_may_have_defaults_of_their_own() -> None:
    """A missing key gets its own default."""
    with tf.Graph().as_default(), tf.Session() as session:
        found = _words().lookup(tf.constant(["x", "y"]), dynamic_default_values=[7, 8])
        assert session.run(found).tolist() == [7, 8]


def _dense(**kwargs: Any) -> Any:
    given = {"default_value": -1, "empty_key": 0, "deleted_key": -5, **kwargs}
    return tf.lookup.experimental.DenseHashTable(tf.int64, tf.int64, **given)


@pytest.mark.parametrize(
    ("build", "match"),
    [
        (lambda: _dense().insert([0], [1]), "empty_key as a table key is not allowed"),
        (lambda: _dense().lookup([-5]), "deleted_key as a table key is not allowed"),
        (lambda: _dense().erase([0]), "empty_key as a table key is not allowed"),
        (lambda: _dense(deleted_key=0).size(), "cannot be equal"),
        (lambda: _dense(initial_num_buckets=12).size(), "power of 2"),
    ],
)
def test_dense_table_refuses_its_reserved_keys(build: Any, match: str) -> None:
    """The two special keys, and invalid arguments, are errors of the step."""
    with (
        tf.Graph().as_default(),
        tf.Session() as session,
        pytest.raises(tf.errors.InvalidArgumentError, match=match),
    ):
        session.run(build())


def test_static_table_must_be_filled_first() -> None:
    """The error of a lookup suggests tables_initializer()."""
    with tf.Graph().as_default(), tf.Session() as session:
        words = tf.lookup.KeyValueTensorInitializer(["a"], [1])
        table = tf.lookup.StaticHashTable(words, -1)
        with pytest.raises(tf.errors.FailedPreconditionError, match="Table not initialized"):
            session.run(table.lookup(tf.constant(["a"])))
        session.run(table.initializer)
        assert session.run(table["a"]) == 1


def test_initializer_of_other_types_is_refused() -> None:
    """An initializer of other types is refused."""
    with tf.Graph().as_default():
        table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a"], [1]), -1)
        with pytest.raises(TypeError, match="Invalid value dtype for table"):
            tf.lookup.KeyValueTensorInitializer(["a"], [1.0]).initialize(table)
