"""Lookup tables: initialization, lookup, changes, errors, and text files."""

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


def longs(value: Any) -> Any:
    """An int64 constant."""
    return tf.constant(value, tf.int64)


def words(**attrs: Any) -> Any:
    """Return a static table from strings to numbers."""
    return ops.HashTableV2(key_dtype=tf.string, value_dtype=tf.int64, **attrs)


def counts(**attrs: Any) -> Any:
    """Return a mutable table from strings to numbers."""
    return ops.MutableHashTableV2(key_dtype=tf.string, value_dtype=tf.int64, **attrs)


def find(table: Any, keys: Any, default: Any = -1) -> Any:
    """Look up keys."""
    return ops.LookupTableFindV2(table_handle=table, keys=keys, default_value=longs(default))


def fill(table: Any, keys: Any, values: Any) -> Any:
    """Initialize a table."""
    return ops.InitializeTableV2(table_handle=table, keys=keys, values=longs(values))


def insert(table: Any, keys: Any, values: Any) -> Any:
    """Adds entries."""
    return ops.LookupTableInsertV2(table_handle=table, keys=keys, values=longs(values))


def size(table: Any) -> Any:
    """Return the number of keys."""
    return ops.LookupTableSizeV2(table_handle=table)


def export(table: Any) -> Any:
    """All entries."""
    return ops.LookupTableExportV2(table_handle=table, Tkeys=tf.string, Tvalues=tf.int64)


def test_a_table_is_filled_once(sess: tf.Session) -> None:
    """Initializing again with as many entries is accepted, and changes nothing."""
    table = words()
    assert sess.run(size(table)) == 0
    with pytest.raises(tf.errors.FailedPreconditionError, match="Table not initialized"):
        sess.run(find(table, ["a"]))
    with pytest.raises(tf.errors.AbortedError, match="HashTable is not initialized"):
        sess.run(export(table))
    sess.run(fill(table, ["a", "a", "b"], [1, 1, 5]))
    assert sess.run(size(table)) == 2
    sess.run(fill(table, ["a", "b"], [7, 7]))
    with pytest.raises(tf.errors.FailedPreconditionError, match="with different data"):
        sess.run(fill(table, ["a", "b", "c"], [7, 7, 8]))
    assert sess.run(find(table, [["a"], ["zz"]])).tolist() == [[1], [-1]]
    assert sess.run(find(table, ["a", "zz"], [-1, -2])).tolist() == [1, -1]


def test_a_key_with_two_values_is_refused(sess: tf.Session) -> None:
    """The table stays empty."""
    table = words()
    with pytest.raises(
        tf.errors.FailedPreconditionError,
        match=r"different value for same key. Key a has 1 and trying to add value 2",
    ):
        sess.run(fill(table, ["a", "a"], [1, 2]))
    assert sess.run(size(table)) == 0


def test_a_static_table_does_not_change(sess: tf.Session) -> None:
    """Insert and remove are refused; import initializes the table."""
    table = words()
    with pytest.raises(tf.errors.UnimplementedError, match="Insert not supported"):
        sess.run(insert(table, ["q"], [1]))
    with pytest.raises(tf.errors.UnimplementedError, match="Remove not supported"):
        sess.run(ops.LookupTableRemoveV2(table_handle=table, keys=["q"]))
    sess.run(ops.LookupTableImportV2(table_handle=table, keys=["q"], values=longs([1])))
    assert sess.run(find(table, ["q"])).tolist() == [1]


def test_a_mutable_table_changes(sess: tf.Session) -> None:
    """Insert, lookup, remove, import and export work; the last of equal keys applies."""
    table = counts()
    sess.run(insert(table, ["q", "r", "q"], [1, 2, 3]))
    assert sess.run(find(table, [["q"], ["x"]])).tolist() == [[3], [-1]]
    assert sess.run(find(table, ["q", "x"], [-1, -2])).tolist() == [3, -2]
    sess.run(ops.LookupTableRemoveV2(table_handle=table, keys=["zz", "r"]))
    assert sess.run(size(table)) == 1
    sess.run(ops.LookupTableImportV2(table_handle=table, keys=["k"], values=longs([10])))
    keys, values = sess.run(export(table))
    assert (keys.tolist(), values.tolist()) == ([b"k"], [10])


def test_values_may_be_vectors(sess: tf.Session) -> None:
    """All values are vectors of one length."""
    table = ops.MutableHashTableOfTensorsV2(
        key_dtype=tf.string, value_dtype=tf.int64, value_shape=[2]
    )
    sess.run(insert(table, ["a", "b"], [[1, 2], [3, 4]]))
    found = find(table, [["b", "x"]], [9, 8])
    assert found.shape.as_list() == [1, 2, 2]
    assert sess.run(found).tolist() == [[[3, 4], [9, 8]]]
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"Expected shape \[1,2\] for value"):
        sess.run(insert(table, ["a"], [1]))


def test_what_does_not_fit_a_table_is_refused(sess: tf.Session) -> None:
    """Dtypes of keys and values, shapes of values and defaults, and kinds of tables are checked."""
    table, mutable = words(), counts()
    sess.run(fill(table, ["a"], [1]))
    invalid = tf.errors.InvalidArgumentError
    with pytest.raises(invalid, match="Signature mismatch, have: resource, int64"):
        sess.run(find(table, longs([1])))
    with pytest.raises(invalid, match=r"Expected shape \[\] or \[2\] for default value, got \[1\]"):
        sess.run(find(mutable, ["q", "x"], [-1]))
    with pytest.raises(invalid, match=r"Expected shape \[1\] for value, got \[2\]"):
        sess.run(insert(mutable, ["q"], [1, 2]))
    with pytest.raises(invalid, match="is not initializable"):
        sess.run(fill(mutable, ["a"], [1]))
    keys = tf.placeholder_with_default(["a"], None)
    with pytest.raises(invalid, match="Keys and values must have the same size 1 vs 2"):
        sess.run(fill(words(), keys, [1, 2]))
    with pytest.raises(ValueError, match="Expected int64 got float"):
        ops.LookupTableFindV2(table_handle=mutable, keys=["a"], default_value=1.0)
    with pytest.raises(ValueError, match="Shape must be at least rank 1"):
        ops.LookupTableRemoveV2(table_handle=mutable, keys="k")


def test_tables_are_shared_by_name(sess: tf.Session) -> None:
    """Equal names mean one table, whose dtypes must agree."""
    sess.run(fill(words(shared_name="same"), ["a"], [1]))
    assert sess.run(find(words(shared_name="same"), ["a"])).tolist() == [1]
    other = ops.HashTableV2(key_dtype=tf.string, value_dtype=tf.int32, shared_name="same")
    with pytest.raises(tf.errors.InvalidArgumentError, match="Conflicting key/value dtypes"):
        sess.run(size(other))


def test_pairs_of_dtypes_without_a_kernel_are_refused(sess: tf.Session) -> None:
    """TensorFlow has no kernel for these pairs either."""
    table = ops.HashTableV2(key_dtype=tf.float32, value_dtype=tf.int64)
    with pytest.raises(tf.errors.InvalidArgumentError, match="No OpKernel was registered"):
        sess.run(size(table))


def test_one_operation_fills_all_tables(sess: tf.Session) -> None:
    """The tables are those in the graph's collection; without any it is a NoOp."""
    assert tf.tables_initializer(name="none").type == "NoOp"
    table = words()
    tf.add_to_collection(tf.GraphKeys.TABLE_INITIALIZERS, fill(table, ["a"], [1]))
    sess.run(tf.tables_initializer())
    assert sess.run(find(table, ["a"])).tolist() == [1]


# -- text files


def from_text(
    sess: tf.Session,
    path: Path,
    text: str,
    key: int,
    value: int,
    dtypes: Any = (tf.string, tf.int64),
    **attrs: Any,
) -> dict[Any, Any]:
    """Return the entries of a table read from a file."""
    path.write_text(text)
    table = ops.HashTableV2(key_dtype=dtypes[0], value_dtype=dtypes[1])
    init = ops.InitializeTableFromTextFileV2(
        table_handle=table, filename=str(path), key_index=key, value_index=value, **attrs
    )
    sess.run(init)
    sess.run(init)
    entries = ops.LookupTableExportV2(table_handle=table, Tkeys=dtypes[0], Tvalues=dtypes[1])
    keys, values = sess.run(entries)
    return dict(zip(keys.tolist(), values.tolist(), strict=True))


TABLE = "a\tx\nb\ty\nc\tz\n"


def test_lines_become_entries(sess: tf.Session, tmp_path: Path) -> None:
    """Keys and values are columns, whole lines or line numbers."""
    path = tmp_path / "vocab"
    assert from_text(sess, path, TABLE, -2, -1) == {b"a\tx": 0, b"b\ty": 1, b"c\tz": 2}
    strings = (tf.string, tf.string)
    assert from_text(sess, path, TABLE, 1, 0, strings) == {b"x": b"a", b"y": b"b", b"z": b"c"}
    assert from_text(sess, path, TABLE, 0, -1, offset=5) == {b"a": 5, b"b": 6, b"c": 7}
    assert from_text(sess, path, TABLE, 0, -1, vocab_size=2) == {b"a": 0, b"b": 1}
    assert from_text(sess, path, "a\r\nb", -2, -1) == {b"a": 0, b"b": 1}
    numbers = from_text(sess, path, "1 2.5\n2 3\n", 0, 1, (tf.int64, tf.float32), delimiter=" ")
    assert numbers == {1: np.float32(2.5), 2: np.float32(3)}


def test_anonymous_tables_are_others_with_every_execution(sess: tf.Session) -> None:
    """Entries of one step are not visible in the next; within a step all ops use one table."""
    keys, values = tf.constant(["a", "b"]), longs([1, 2])
    static = ops.AnonymousHashTable(key_dtype=tf.string, value_dtype=tf.int64)
    mutable = ops.AnonymousMutableHashTable(key_dtype=tf.string, value_dtype=tf.int64)
    dense = ops.AnonymousMutableDenseHashTable(
        empty_key=tf.constant(""), deleted_key=tf.constant("-"), value_dtype=tf.int64
    )
    for table in (static, mutable, dense):
        fill = ops.LookupTableImportV2(table_handle=table, keys=keys, values=values)
        with tf.control_dependencies([fill]):
            size = ops.LookupTableSizeV2(table_handle=table)
        assert sess.run(size) == 2
    assert sess.run(ops.LookupTableSizeV2(table_handle=mutable)) == 0
    vectors = ops.AnonymousMutableHashTableOfTensors(
        key_dtype=tf.string, value_dtype=tf.float32, value_shape=[2]
    )
    found = ops.LookupTableFindV2(
        table_handle=vectors, keys=keys, default_value=tf.constant([3.0, 4.0])
    )
    assert sess.run(found).tolist() == [[3, 4], [3, 4]]


def test_a_table_behind_a_reference_is_filled_from_a_file(sess: tf.Session, tmp_path: Path) -> None:
    """The op of old graphs reads the same lines."""
    path = tmp_path / "vocab"
    path.write_text(TABLE)
    table = ops.HashTable(key_dtype=tf.string, value_dtype=tf.int64)
    sess.run(
        ops.InitializeTableFromTextFile(
            table_handle=table, filename=str(path), key_index=0, value_index=-1
        )
    )
    found = ops.LookupTableFind(
        table_handle=table, keys=tf.constant(["b", "x"]), default_value=longs(-1)
    )
    assert sess.run(found).tolist() == [1, -1]


@pytest.mark.parametrize(
    ("text", "key", "value", "attrs", "message"),
    [
        (TABLE, 0, -1, {"vocab_size": 5}, "Invalid vocab_size in .*: expected 5 but got 3"),
        ("a\n\nb\n", -2, -1, {}, "empty line found at position 3"),
        (TABLE, 0, 3, {}, r"Invalid number of columns in .* line 0 .*at least 4 got 2"),
        (TABLE, 0, 1, {}, "Field x in line 0 is not a valid int64"),
        (TABLE, 0, 1, {"delimiter": "ab"}, "delimiter should be only 1 char"),
        (TABLE, -1, -1, {}, "Key index for line number requires table key dtype of int64"),
    ],
)
def test_bad_lines_are_refused(
    sess: tf.Session, tmp_path: Path, text: str, key: int, value: int, attrs: Any, message: str
) -> None:
    """The error names the file and the line."""
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        from_text(sess, tmp_path / "vocab", text, key, value, **attrs)


def test_a_missing_or_empty_file_is_refused(sess: tf.Session, tmp_path: Path) -> None:
    """The errors are NotFoundError and OutOfRangeError."""
    with pytest.raises(tf.errors.OutOfRangeError, match="Read less bytes"):
        from_text(sess, tmp_path / "empty", "", -2, -1)
    table = words()
    init = ops.InitializeTableFromTextFileV2(
        table_handle=table, filename=str(tmp_path / "none"), key_index=-2, value_index=-1
    )
    with pytest.raises(tf.errors.NotFoundError, match="No such file"):
        sess.run(init)


def test_a_dense_table_takes_what_tensorflow_exported(sess: tf.Session) -> None:
    """TensorFlow's checkpoints have all buckets of the table, with special keys in free ones."""
    table = ops.MutableDenseHashTableV2(
        empty_key=longs(-1), deleted_key=longs(-2), value_dtype=tf.int64
    )
    keys, values = tf.placeholder(tf.int64), tf.placeholder(tf.int64)
    restore = ops.LookupTableImportV2(table_handle=table, keys=keys, values=values)
    sess.run(restore, {keys: [[8], [-1], [-2], [3]], values: [[1], [0], [7], [2]]})
    assert sess.run(ops.LookupTableSizeV2(table_handle=table)) == 2
    found = ops.LookupTableFindV2(table_handle=table, keys=longs([3, 8]), default_value=longs(0))
    assert sess.run(found).tolist() == [2, 1]
