"""Datasets kept in files and written to files, and their errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tfnb as tf

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

experimental = tf.data.experimental
Dataset = tf.data.Dataset


@pytest.fixture
def sess() -> Iterator[tf.Session]:
    """A session on a graph of its own."""
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def _elements(sess: tf.Session, dataset: Any, most: int = 50) -> list[Any]:
    iterator = tf.data.make_initializable_iterator(dataset)
    following = iterator.get_next()
    sess.run(iterator.initializer)
    found = []
    try:
        while len(found) < most:
            found.append(sess.run(following))
    except tf.errors.OutOfRangeError:
        pass
    return found


def _squares(count: int, calls: list[int]) -> Any:
    def note(x: Any) -> Any:
        calls.append(int(x))
        return x * x

    return Dataset.range(count).map(
        lambda x: (tf.py_func(note, [x], tf.int64), tf.as_string(x), tf.ones([x, 2]))
    )


def test_a_cache_in_a_file_is_read_by_later_iterators(sess: tf.Session, tmp_path: Path) -> None:
    """The source is read once; the file is a bundle with TensorFlow's names."""
    calls: list[int] = []
    path = str(tmp_path / "cache")
    first = _elements(sess, _squares(3, calls).cache(path).repeat(2))
    other = _elements(sess, _squares(9, calls).cache(path))
    assert calls == [0, 1, 2]
    assert [element[0] for element in first] == [0, 1, 4, 0, 1, 4]
    assert [element[1] for element in other] == [b"0", b"1", b"2"]
    assert [element[2].shape for element in other] == [(0, 2), (1, 2), (2, 2)]
    reader = tf.train.load_checkpoint(path)
    names = sorted(reader.get_variable_to_shape_map())
    assert names == [f"{n:7d}_{c}" for n in range(3) for c in range(3)]


def test_a_cache_that_was_not_filled_leaves_no_file(sess: tf.Session, tmp_path: Path) -> None:
    """The file gets its name when it is complete; until then each iterator begins anew."""
    path = str(tmp_path / "cache")
    assert len(_elements(sess, Dataset.range(5).cache(path), most=3)) == 3
    assert not (tmp_path / "cache.index").exists()
    assert _elements(sess, Dataset.range(2).cache(path)) == [0, 1]
    assert _elements(sess, Dataset.range(5).cache(path)) == [0, 1]


def test_a_cache_of_other_elements_is_refused(sess: tf.Session, tmp_path: Path) -> None:
    """Dtypes are compared; sparse tensors cannot be cached in a file."""
    path = str(tmp_path / "cache")
    _elements(sess, Dataset.range(2).cache(path))
    with pytest.raises(tf.errors.InvalidArgumentError, match="written by another pipeline"):
        _elements(sess, Dataset.from_tensors("a").cache(path))
    sparse = Dataset.from_tensors(tf.SparseTensor([[0]], [1], [1]))
    with pytest.raises(tf.errors.UnimplementedError, match="in memory"):
        _elements(sess, sparse.cache(str(tmp_path / "other")))


@pytest.mark.parametrize("compression", [None, "GZIP"])
def test_a_dataset_is_written_as_records(
    sess: tf.Session, tmp_path: Path, compression: str | None
) -> None:
    """The records are the elements, in order."""
    path = str(tmp_path / "records")
    source = Dataset.range(3).map(tf.as_string)
    sess.run(experimental.TFRecordWriter(path, compression).write(source))
    assert _elements(sess, tf.data.TFRecordDataset(path, compression)) == [b"0", b"1", b"2"]
    with pytest.raises(TypeError, match="scalar strings"):
        experimental.TFRecordWriter(path).write(Dataset.range(3))


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("1,2\n3,4,5\n", "Expect 2 fields but have more"),
        ("1\n", "Expect 2 fields but have 1"),
        ("1,2\n\n", "Field 0 is required but missing in record!"),
        ("a,b\n", "Field 0 in record is not a valid int32: a"),
        ('1,"a"b\n', "Reached end of file without closing quoted field in record|Quote inside"),
        ('1,"a"b"\n', "Quote inside a string has to be escaped by another quote"),
        ('1,a"b"\n', "Unquoted fields cannot have quotes inside"),
        ('1,"a\n', "Reached end of file without closing quoted field in record"),
        (",b\n", "Field 0 is required but missing"),
    ],
)
def test_a_wrong_row_is_refused(sess: tf.Session, tmp_path: Path, text: str, match: str) -> None:
    """The error's class is TensorFlow's."""
    (tmp_path / "rows.csv").write_text(text)
    rows = experimental.CsvDataset(str(tmp_path / "rows.csv"), [tf.int32, tf.string])
    with pytest.raises(tf.errors.InvalidArgumentError, match=match):
        _elements(sess, rows)


@pytest.mark.parametrize("line_end", ["\n", "\r", "\r\n"])
@pytest.mark.parametrize("at_end", [False, True])
def test_quoted_fields_have_line_ends_and_delimiters(
    sess: tf.Session, tmp_path: Path, line_end: str, at_end: bool
) -> None:
    """Any line end ends a record, but not within quotes; a quote there stands twice."""
    rows = ['"\n\n","\r\r","a,b"', '"0","1""2","3"', '"",,""', "", "x,y,"]
    path = tmp_path / "rows.csv"
    path.write_bytes((line_end.join(rows) + line_end * at_end).encode())
    made = experimental.CsvDataset(str(path), [tf.constant(["NA"])] * 3)
    made = made.apply(experimental.ignore_errors())
    assert _elements(sess, made) == [
        (b"\n\n", b"\r\r", b"a,b"),
        (b"0", b'1"2', b"3"),
        (b"NA", b"NA", b"NA"),
        (b"x", b"y", b"NA"),
    ]


def test_a_row_behind_a_wrong_one_is_read(sess: tf.Session, tmp_path: Path) -> None:
    """A wrong quote spoils its own record, also in a column that is not selected."""
    path = tmp_path / "rows.csv"
    path.write_bytes(b'1,"a"b"\n2,c"\n3,d\n"4","e\n"\n5,f"')
    for arguments, found in (
        ({}, [(3, b"d"), (4, b"e\n")]),
        ({"select_cols": [0]}, [(3,), (4,)]),
        ({"use_quote_delim": False}, [(1, b'"a"b"'), (2, b'c"'), (3, b"d"), (5, b'f"')]),
    ):
        types = [tf.int32, tf.string][: 1 if "select_cols" in arguments else 2]
        made = experimental.CsvDataset(str(path), types, **arguments)
        assert _elements(sess, made.apply(experimental.ignore_errors())) == found


def test_old_line_ends_and_columns_left_out(sess: tf.Session, tmp_path: Path) -> None:
    """Lines may end with CR alone; unselected columns are skipped."""
    (tmp_path / "rows.csv").write_bytes(b"1,2,x\r3,4,y\r")
    rows = experimental.CsvDataset(
        str(tmp_path / "rows.csv"), [tf.int32, tf.string], exclude_cols=[1]
    )
    assert _elements(sess, rows) == [(1, b"x"), (3, b"y")]


def test_arguments_of_csv_pipelines_are_checked(tmp_path: Path) -> None:
    """The arguments are checked before anything is built."""
    path = tmp_path / "rows.csv"
    path.write_text("a,a\n1,2\n")
    make = experimental.make_csv_dataset
    for arguments, match in (
        ({}, "duplicate column names"),
        ({"column_names": ["a", "b"], "label_name": "c"}, "must be one of the columns"),
        ({"column_names": ["a", "b"], "select_columns": [5]}, "different columns"),
        ({"column_names": ["a", "b", "c"]}, "has 2 number of fields. Expected: 3"),
        ({"compression_type": "GZIP"}, "must be given for compressed"),
        ({"column_names": ["a", "b"], "column_defaults": [1]}, "1 column_defaults for 2"),
    ):
        with tf.Graph().as_default(), pytest.raises(ValueError, match=match):
            make(str(path), 2, **arguments)
    with pytest.raises(ValueError, match="No files match"):
        make(str(tmp_path / "none*"), 2)


def test_databases_and_their_errors(sess: tf.Session, tmp_path: Path) -> None:
    """A missing driver, a failing query, and columns of other types are errors."""
    path = str(tmp_path / "none")
    for driver, error in (("mysql", "InvalidArgument"), ("sqlite", "Unknown")):
        rows = experimental.SqlDataset(driver, path, "select 1", (tf.int32,))
        with pytest.raises(getattr(tf.errors, f"{error}Error")):
            _elements(sess, rows)


def test_batches_that_cannot_be_cut_are_refused(sess: tf.Session) -> None:
    """Scalars are refused when building; wrong sizes and sparse rows when running."""
    with pytest.raises(ValueError, match="scalar elements"):
        Dataset.range(4).rebatch(2)
    with pytest.raises(tf.errors.InvalidArgumentError, match="batch_sizes"):
        _elements(sess, Dataset.range(4).batch(2).rebatch(-1))
    with pytest.raises(TypeError, match="single component"):
        Dataset.from_tensors((1, 2)).sparse_batch(2, [1])
    rows = Dataset.range(5).map(lambda x: tf.range(x))
    with pytest.raises(tf.errors.DataLossError, match="larger than the row shape"):
        _elements(sess, rows.sparse_batch(2, [2]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="incompatible with the row shape"):
        _elements(sess, rows.sparse_batch(2, [2, 2]))


def test_the_ops_behind_old_pipelines(sess: tf.Session) -> None:
    """Sliding windows, replicas, random seeds, single elements and matching files work."""
    raw, one = tf.raw_ops, {"output_types": [tf.int64], "output_shapes": [[None]]}
    source = Dataset.range(7)._variant_tensor
    windows = raw.SlidingWindowDataset(
        input_dataset=source, window_size=3, window_shift=2, window_stride=2, **one
    )
    spec = tf.TensorSpec([None], tf.int64)
    found = _elements(sess, experimental.from_variant(windows, spec))
    assert [list(e) for e in found] == [[0, 2, 4], [2, 4, 6]]
    batches = Dataset.range(7).batch(4)._variant_tensor
    parts = raw.RebatchDataset(input_dataset=batches, num_replicas=2, **one)
    found = _elements(sess, experimental.from_variant(parts, spec))
    assert [list(e) for e in found] == [[0, 1], [2, 3], [4, 5], [6]]
    scalar = {"output_types": [tf.int64], "output_shapes": [[]]}
    many = Dataset.range(1000)._variant_tensor
    sampled = raw.SamplingDataset(input_dataset=many, rate=0.25, seed=3, seed2=5, **scalar)
    kept = _elements(sess, experimental.from_variant(sampled, tf.TensorSpec([], tf.int64)), 1000)
    assert 180 < len(kept) < 320
    assert kept == sorted(kept)
    assert sess.run(raw.GetElementAtIndex(dataset=source, index=4, **scalar))[0] == 4
    with pytest.raises(tf.errors.OutOfRangeError, match="Index out of range"):
        sess.run(raw.GetElementAtIndex(dataset=source, index=9, **scalar))


def test_files_that_match(sess: tf.Session, tmp_path: Path) -> None:
    """Files are sorted, for several patterns together."""
    for name in ("b.txt", "a.txt", "c.csv"):
        (tmp_path / name).write_text("")
    patterns = [f"{tmp_path}/*.csv", f"{tmp_path}/*.txt"]
    variant = tf.raw_ops.MatchingFilesDataset(patterns=patterns)
    found = _elements(sess, experimental.from_variant(variant, tf.TensorSpec([], tf.string)))
    assert [name.decode().split("/")[-1] for name in found] == ["a.txt", "b.txt", "c.csv"]


@pytest.mark.parametrize("initial", [None, [0.75, 0.25]])
@pytest.mark.slow
def test_resampled_classes_are_as_often_as_wanted(
    sess: tf.Session, initial: list[float] | None
) -> None:
    """A class with a quarter of the elements is resampled to a half."""
    tf.set_random_seed(1)
    pairs = Dataset.range(2000).rejection_resample(
        lambda x: tf.cast(tf.equal(x % 4, 0), tf.int32), [0.5, 0.5], initial, seed=3
    )
    found = _elements(sess, pairs, most=3000)
    assert 0.42 < np.mean([label for label, _ in found]) < 0.58
    assert len(found) > 600
    assert all(label == (x % 4 == 0) for label, x in found)


def test_a_reducer_with_a_wrong_key_is_refused() -> None:
    """Keys must be int64."""
    reducer = experimental.Reducer(lambda k: k, lambda s, x: s, lambda s: s)
    transformation = experimental.group_by_reducer(lambda x: tf.cast(x, tf.int32), reducer)
    with tf.Graph().as_default(), pytest.raises(ValueError, match="Invalid `key_func`"):
        Dataset.range(3).apply(transformation)


def test_specs_of_ragged_tensors() -> None:
    """The ragged rank follows from the shape, and must be below its rank."""
    spec = tf.RaggedTensorSpec([None, None], tf.int32)
    assert (spec.ragged_rank, spec.row_splits_dtype) == (1, tf.int64)
    with tf.Graph().as_default():
        assert spec.is_compatible_with(tf.ragged.constant([[1], []]))
        assert not spec.is_compatible_with(tf.ragged.constant([[1.0], []]))
    with pytest.raises(ValueError, match="ragged_rank or a shape"):
        tf.RaggedTensorSpec()
    with pytest.raises(ValueError, match="must be less than rank"):
        tf.RaggedTensorSpec([2], ragged_rank=1)


@pytest.mark.parametrize("buffer_size", [-1, -2])
def test_the_buffer_of_records_may_be_tensorflows_choice(
    sess: tf.Session, tmp_path: Path, buffer_size: int
) -> None:
    """-1 is TensorFlow's own default now; other negative sizes are refused."""
    path = str(tmp_path / "records")
    with tf.io.TFRecordWriter(path) as writer:
        writer.write(b"one")
    records = Dataset.range(1).flat_map(lambda _: tf.data.TFRecordDataset(path))
    iterator = tf.data.make_initializable_iterator(records)
    variant = tf.raw_ops.TFRecordDataset(
        filenames=[path],
        compression_type="",
        buffer_size=tf.constant(buffer_size, tf.int64),
    )
    made = tf.raw_ops.MakeIterator(dataset=variant, iterator=iterator._iterator_resource)
    if buffer_size < -1:
        with pytest.raises(tf.errors.InvalidArgumentError, match="no buffering"):
            sess.run(made)
        return
    sess.run(made)
    assert sess.run(iterator.get_next()) == b"one"
