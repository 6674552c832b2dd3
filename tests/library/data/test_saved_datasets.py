"""Saved datasets: TensorFlow's files are read, ours equal TensorFlow's; snapshots.

tests/golden/saved_datasets has TensorFlow's files; ``scripts/oracle/saved_datasets.py`` writes
them. Calls and errors are in tests/golden/single_calls/saved_datasets.md.
"""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tfnb as tf
from tfnb.core.files.snapshot_files import read_shard
from tfnb.framework.functions.function import Defun
from tfnb.proto import snapshot_pb2

if TYPE_CHECKING:
    from collections.abc import Iterator

Dataset = tf.data.Dataset
_SAVED = Path(__file__).parents[2] / "golden" / "saved_datasets"


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


def _unpacked(name: str, folder: Path) -> str:
    with zipfile.ZipFile(_SAVED / f"{name}.zip") as file:
        file.extractall(folder)
    return str(folder)


def _pairs() -> Any:
    return Dataset.range(5).map(lambda x: (x, tf.as_string(x)))


PAIRS = [(n, str(n).encode()) for n in range(5)]


@pytest.mark.parametrize("compression", ["", "GZIP", "ZLIB", "SNAPPY"])
def test_tensorflows_files_are_loaded(sess: tf.Session, tmp_path: Path, compression: str) -> None:
    """Files are plain or compressed, with the element spec."""
    name = f"pairs_{compression.lower()}".rstrip("_")
    dataset = Dataset.load(_unpacked(name, tmp_path), compression=compression)
    assert dataset.element_spec == (tf.TensorSpec([], tf.int64), tf.TensorSpec([], tf.string))
    assert _elements(sess, dataset) == PAIRS


def test_elements_of_tensorflow_of_other_kinds_are_loaded(sess: tf.Session, tmp_path: Path) -> None:
    """Dicts, tuples, halves, bools, complex numbers, varying lengths, long text, no elements."""
    found = _elements(sess, Dataset.load(_unpacked("names", tmp_path / "names")))
    assert [one["b"].tolist() for one in found] == [[0, 1], [2, 3], [4, 5]]
    assert [one["a"] for one in found] == [(True, 1.5), (False, -2), (True, 3)]
    assert found[0]["a"][1].dtype == np.float16
    found = _elements(sess, Dataset.load(_unpacked("lengths", tmp_path / "lengths")))
    assert [one.tolist() for one in found] == [[n + 1j] * n for n in range(4)]
    path = _unpacked("long_snappy", tmp_path / "long")
    assert _elements(sess, Dataset.load(path, compression="SNAPPY")) == [b"abcdefgh" * 5000] * 3
    assert _elements(sess, Dataset.load(_unpacked("nothing", tmp_path / "nothing"))) == []


def test_shards_of_tensorflow_are_read_in_the_order_that_is_asked_for(
    sess: tf.Session, tmp_path: Path
) -> None:
    """The reader function gets a dataset of the shards."""
    path = _unpacked("pairs_in_shards", tmp_path)
    one_by_one = Dataset.load(path, reader_func=lambda shards: shards.flat_map(lambda one: one))
    assert [int(n) for n, _ in _elements(sess, one_by_one)] == [0, 2, 4, 1, 3]
    second = Dataset.load(path, reader_func=lambda shards: shards.skip(1).flat_map(lambda one: one))
    assert _elements(sess, second) == [PAIRS[1], PAIRS[3]]


@pytest.mark.parametrize(
    ("name", "how"), [("pairs", {}), ("pairs_in_shards", {"shard_func": lambda x, _: x % 2})]
)
def test_what_is_saved_has_tensorflows_bytes(
    sess: tf.Session, tmp_path: Path, name: str, how: dict[str, Any]
) -> None:
    """All files but the metadata are equal, which name another run and time."""
    sess.run(_pairs().save(str(tmp_path / "ours"), **how))
    theirs = Path(_unpacked(name, tmp_path / "theirs"))
    assert _contents(tmp_path / "ours") == _contents(theirs)
    assert _metadata(tmp_path / "ours") == _metadata(theirs)


def _contents(folder: Path) -> dict[str, bytes]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    shards = {f"{path.parent.name}/{path.name}": path for path in files if path.parent != folder}
    found = {name: path.read_bytes() for name, path in shards.items()}
    return {**found, "spec": (folder / "dataset_spec.pb").read_bytes()}


def _metadata(folder: Path) -> Any:
    data = (folder / "snapshot.metadata").read_bytes()
    record = snapshot_pb2.SnapshotMetadataRecord.FromString(data)
    assert (folder / record.run_id).is_dir()
    record.run_id = ""
    record.creation_timestamp = 0
    return record


@pytest.mark.parametrize("compression", ["GZIP", "SNAPPY"])
def test_compressed_files_hold_the_same_records(
    sess: tf.Session, tmp_path: Path, compression: str
) -> None:
    """Large elements take several blocks."""
    text = np.random.default_rng(0).bytes(600_000)
    sess.run(Dataset.from_tensors((text, 7)).repeat(2).save(str(tmp_path), compression))
    (shard,) = tmp_path.glob("*/*.shard")
    found = [(one.item(), other.item()) for one, other in read_shard(str(shard), compression, 2)]
    assert found == [(text, 7)] * 2


def test_saving_v2_writes_what_passes(sess: tf.Session, tmp_path: Path) -> None:
    """The raw op passes elements on; the run is complete only at the end."""
    source, path = Dataset.range(3), str(tmp_path)
    writing = tf.raw_ops.SaveDatasetV2(
        input_dataset=source._variant_tensor, path=path, shard_func_other_args=[],
        shard_func=_shard_of_remainder(), output_types=[tf.int64], output_shapes=[[]],
    )  # fmt: skip
    following = tf.data.Iterator.from_structure(tf.int64, tf.TensorShape([]))
    start = tf.raw_ops.MakeIterator(dataset=writing, iterator=following._iterator_resource)
    element = following.get_next()
    sess.run(start)
    assert [int(sess.run(element)) for _ in range(3)] == [0, 1, 2]
    loaded = Dataset.load(path, tf.TensorSpec([], tf.int64))
    with pytest.raises(tf.errors.NotFoundError, match="metadata file"):
        _elements(sess, loaded)
    with pytest.raises(tf.errors.OutOfRangeError):
        sess.run(element)
    assert sorted(_elements(sess, loaded)) == [0, 1, 2]
    assert len(list(tmp_path.glob("*/*.shard"))) == 2


def _shard_of_remainder() -> Any:
    @Defun(tf.int64)
    def remainder(x: Any) -> Any:
        return x % 2

    remainder.add_to_graph(tf.get_default_graph())
    return remainder


def test_what_is_no_tensor_is_not_saved(sess: tf.Session, tmp_path: Path) -> None:
    """The error has the remedy."""
    sparse = Dataset.from_tensors(tf.SparseTensor([[0]], [1], [1]))
    with pytest.raises(tf.errors.UnimplementedError, match="Map sparse and ragged elements"):
        sess.run(sparse.save(str(tmp_path)))


@pytest.mark.parametrize("cut", [1, 20, 60])
def test_damaged_files_are_errors(sess: tf.Session, tmp_path: Path, cut: int) -> None:
    """A file that ends early is an error, not the end of the data."""
    for compression in ("", "SNAPPY"):
        path = tmp_path / (compression or "plain")
        sess.run(_pairs().save(str(path), compression))
        (file,) = path.glob("*/*/*.snapshot")
        file.write_bytes(file.read_bytes()[:-cut])
        with pytest.raises(tf.errors.DataLossError):
            _elements(sess, Dataset.load(str(path), compression=compression))


def test_damaged_metadata_and_specs_are_errors(sess: tf.Session, tmp_path: Path) -> None:
    """The name of a run must be a number, so that it cannot lead to another folder."""
    path = str(tmp_path)
    sess.run(Dataset.range(2).save(path))
    record = snapshot_pb2.SnapshotMetadataRecord(run_id="../x", version=2, finalized=True)
    (tmp_path / "snapshot.metadata").write_bytes(record.SerializeToString())
    with pytest.raises(tf.errors.UnimplementedError, match="not read"):
        _elements(sess, Dataset.load(path))
    (tmp_path / "snapshot.metadata").write_bytes(b"\xff\xff")
    with pytest.raises(tf.errors.DataLossError, match="parse"):
        _elements(sess, Dataset.load(path))
    (tmp_path / "dataset_spec.pb").write_bytes(b"\xff\xff")
    with pytest.raises(tf.errors.NotFoundError, match="not found or invalid"):
        Dataset.load(path)


def _doubled(calls: list[int], factor: int = 2) -> Any:
    def call(x: Any) -> Any:
        calls.append(int(x))
        return np.int64(x * factor)

    return Dataset.range(4).map(lambda x: tf.py_func(call, [x], tf.int64))


def test_a_snapshot_is_computed_once(tmp_path: Path) -> None:
    """Another graph uses it; another pipeline has its own snapshot."""
    calls: list[int] = []
    for _ in range(3):
        with tf.Graph().as_default(), tf.Session() as session:
            range_twice = Dataset.range(4).map(lambda x: x * 2).snapshot(str(tmp_path))
            assert sorted(_elements(session, range_twice)) == [0, 2, 4, 6]
    assert len(list(tmp_path.iterdir())) == 1
    with tf.Graph().as_default(), tf.Session() as session:
        thrice = Dataset.range(4).map(lambda x: x * 3).snapshot(str(tmp_path))
        assert sorted(_elements(session, thrice)) == [0, 3, 6, 9]
        kept = _doubled(calls).snapshot(str(tmp_path), compression="GZIP")
        for _ in range(2):
            assert sorted(_elements(session, kept)) == [0, 2, 4, 6]
    assert calls == [0, 1, 2, 3]
    assert len(list(tmp_path.iterdir())) == 3


def test_a_snapshot_that_was_not_finished_is_begun_anew(sess: tf.Session, tmp_path: Path) -> None:
    """A run is complete only at its end."""
    calls: list[int] = []
    kept = _doubled(calls).snapshot(str(tmp_path))
    assert len(_elements(sess, kept, most=2)) == 2
    assert len(_elements(sess, kept)) == 4
    assert len(calls) == 6
    assert len(_elements(sess, kept)) == 4
    assert len(calls) == 6


def test_fingerprints_are_those_of_the_pipeline(sess: tf.Session) -> None:
    """They are equal in another graph, and do not change by iterating."""

    def pipeline(factor: int) -> Any:
        return Dataset.range(4).map(lambda x: x * factor).cache().filter(lambda x: x > 1).batch(2)

    first = pipeline(2)
    before = sess.run(first.fingerprint())
    _elements(sess, first)
    assert sess.run(first.fingerprint()) == before
    assert sess.run(pipeline(3).fingerprint()) != before
    with tf.Graph().as_default(), tf.Session() as session:
        Dataset.range(3).map(lambda x: x)  # so that functions have other numbers
        assert session.run(pipeline(2).fingerprint()) == before


def test_files_of_a_loaded_graph_are_asked_for(tmp_path: Path) -> None:
    """Saving, loading and snapshots of a loaded graph need permission."""
    path = str(tmp_path / "saved")
    with tf.Graph().as_default() as graph, tf.Session() as session:
        saving = Dataset.range(3).save(path)
        session.run(saving)
        following = tf.data.make_initializable_iterator(Dataset.load(path))
        element = following.get_next()
        kept = tf.data.make_initializable_iterator(Dataset.range(3).snapshot(path + "_kept"))
        names = saving.name, following.initializer.name, element.name, kept.initializer.name
        next_kept = kept.get_next().name
    with tf.Graph().as_default(), tf.Session() as session:
        tf.import_graph_def(graph.as_graph_def(), name="")
        with pytest.raises(tf.errors.PermissionDeniedError, match=r"saved"):
            session.run(names[0])
        with pytest.raises(tf.errors.PermissionDeniedError, match=r"saved"):
            session.run(names[1])
        with pytest.raises(tf.errors.PermissionDeniedError, match=r"_kept"):
            session.run(names[3])
        assert not (tmp_path / "saved_kept").exists()
        with tf.safety.allow("file", under=tmp_path):
            session.run(names[0])
            session.run(names[1])
            assert int(session.run(names[2])) == 0
            session.run(names[3])
            assert int(session.run(next_kept)) == 0
        assert (tmp_path / "saved_kept").exists()
