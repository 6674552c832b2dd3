"""Checkpoints on disk."""

from __future__ import annotations

import base64
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from tests.traced_memory import traced_memory
from tfnb.core import dtypes, errors
from tfnb.core.files import leveldb_table
from tfnb.core.files.tensor_bundle import (
    BundleEntry,
    BundleReader,
    BundleWriter,
    data_path,
    index_path,
    merge_bundles,
)
from tfnb.core.files.tensor_slice import TensorSlice
from tfnb.proto import tensor_bundle_pb2

MATRIX = np.arange(6, dtype=np.float32).reshape(2, 3)
STRINGS = np.array([b"x", b"yy"], object)


def _write(prefix: str) -> str:
    writer = BundleWriter(prefix)
    writer.add("b", MATRIX, dtypes.float32)
    writer.add("a", STRINGS, dtypes.string)
    writer.add("c", np.int64(5), dtypes.int64)
    writer.finish()
    return prefix


def _write_slices(prefix: str) -> str:
    writer = BundleWriter(prefix)
    for text in ("0,2:-", "2,2:-"):
        writer.add_slice("v", (4, 3), TensorSlice.parse(text), MATRIX, dtypes.float32)
    writer.add("w", STRINGS, dtypes.string)
    writer.finish()
    return prefix


# TensorFlow 2.21's files for the two functions above.
_INDEX = (
    "AAAGCAEaAggBAAERYQgHEgQSAggCIBgoCTU45cJNAAETYggBEggSAggCEgIIAygYNcDbPRcAAQ1jCAkSACAhKAg1"
    "6rIEPgAAAAABAAAAAIvshFkAAAAAAQAAAADA8qGwAAECZABOAAAAAAEAAAAAx/f2ClMIYA4AAAAAAAAAAAAAAAAA"
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAABX+4CLJHVH2w=="
)
_SLICED_INDEX = (
    "AAAGCAEaAggBAAoTAHYAAQECgIKAfwgBEggSAggCEgIIAygYNcDbPRcGBBWCgoB/CAESCBICCAISAggDIBgoGDXA"
    "2z0XAAEedggBEggSAggEEgIIAzoGCgIQAgoAOggKBAgCEAIKAAABEXcIBxIEEgIIAiAwKAk1OOXCTQAAAAABAAAA"
    "AGKDjAwAAAAAAQAAAADA8qGwAAEDeACEAQAAAAABAAAAAKwOa2GJAQiWAQ8AAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
    "AAAAAAAAAAAAAAAAV/uAiyR1R9s="
)


def test_files_equal_tensorflows(tmp_path: Path) -> None:
    """Index and data are TensorFlow's, byte for byte."""
    prefix = _write(str(tmp_path / "m"))
    assert base64.b64encode((tmp_path / "m.index").read_bytes()).decode() == _INDEX
    data = (tmp_path / "m.data-00000-of-00001").read_bytes()
    assert data[:24] == MATRIX.tobytes()
    assert data[-8:] == (5).to_bytes(8, "little")
    _write_slices(str(tmp_path / "p"))
    assert base64.b64encode((tmp_path / "p.index").read_bytes()).decode() == _SLICED_INDEX
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "m.data-00000-of-00001",
        "m.index",
        "p.data-00000-of-00001",
        "p.index",
    ], prefix


@pytest.mark.parametrize(
    "value",
    [
        np.float32(1.5),
        np.zeros((0, 3), np.int32),
        np.arange(5000, dtype=np.float64),
        np.array([True, False]),
        np.array([1 + 2j], np.complex64),
        np.arange(4, dtype=np.float32).astype(ml_dtypes.bfloat16),
        np.array([[b"", b"a" * 300], [b"\0", b"b"]], object),
        np.empty(0, object),
    ],
    ids=lambda value: f"{value.dtype}{value.shape}",
)
def test_values_round_trip(tmp_path: Path, value: np.ndarray) -> None:
    """Every dtype and shape comes back as it was."""
    prefix = str(tmp_path / "ckpt")
    dtype = dtypes.string if value.dtype == object else dtypes.as_dtype(value.dtype)
    writer = BundleWriter(prefix)
    writer.add("t", value, dtype)
    writer.finish()
    with BundleReader(prefix) as reader:
        found = reader.lookup("t")
        assert reader.entry("t").dtype is dtype
    assert (found.dtype, found.shape) == (value.dtype, value.shape)
    assert found.tolist() == value.tolist()


def test_parts_are_put_together(tmp_path: Path) -> None:
    """A tensor saved in parts is read whole or in other parts."""
    with BundleReader(_write_slices(str(tmp_path / "p"))) as reader:
        assert list(reader.names()) == ["v", "w"]
        np.testing.assert_array_equal(reader.lookup("v"), np.concatenate([MATRIX, MATRIX]))
        part = reader.lookup_slice("v", TensorSlice.parse("1,2:0,1"))
    assert part.tolist() == [[3.0], [0.0]]


def test_parts_that_are_missing_are_noticed_before_memory_is_taken(tmp_path: Path) -> None:
    """An index may declare a shape, or a part of one, that its file does not have."""
    prefix = _write_slices(str(tmp_path / "m"))
    path = Path(index_path(prefix))
    rows = dict(leveldb_table.read_table(path.read_bytes()))

    def declare(key: bytes, shape: tuple[int, ...]) -> None:
        entry = BundleEntry.parse(key, rows[key])
        entry.shape = shape
        changed = {**rows, key: entry.serialize()}
        path.write_bytes(leveldb_table.build_table(sorted(changed.items())))

    part = next(key for key in rows if key.startswith(b"\0"))
    for key, shape, error in (
        (b"v", (2**20, 3), errors.NotFoundError),
        (b"v", (2**62, 3), errors.NotFoundError),
        (part, (2**20, 3), errors.DataLossError),
    ):
        declare(key, shape)
        with traced_memory() as memory, BundleReader(prefix) as reader, pytest.raises(error):
            reader.lookup("v")
        assert memory.peak < 2**20


def test_parts_that_begin_before_the_tensor_are_refused(tmp_path: Path) -> None:
    """An extent of a file may be negative."""
    prefix = _write_slices(str(tmp_path / "m"))
    path = Path(index_path(prefix))
    rows = dict(leveldb_table.read_table(path.read_bytes()))
    for extent in ((-2, 2), (0, -5)):
        entry = BundleEntry.parse(b"v", rows[b"v"])
        entry.slices += (TensorSlice((extent, (0, 3))),)
        changed = {**rows, b"v": entry.serialize()}
        if extent[1] < 0:
            message = tensor_bundle_pb2.BundleEntryProto.FromString(changed[b"v"])
            message.slices[-1].extent[0].start, message.slices[-1].extent[0].length = extent
            changed[b"v"] = message.SerializeToString()
        path.write_bytes(leveldb_table.build_table(sorted(changed.items())))
        with (
            BundleReader(prefix) as reader,
            pytest.raises(errors.InvalidArgumentError, match="out of bounds"),
        ):
            reader.lookup("v")


def test_a_name_that_is_no_text_is_data_loss(tmp_path: Path) -> None:
    """The names of a file are its author's."""
    prefix = _write(str(tmp_path / "m"))
    path = Path(index_path(prefix))
    rows = dict(leveldb_table.read_table(path.read_bytes()))
    rows[b"\xff"] = rows.pop(b"a")
    path.write_bytes(leveldb_table.build_table(sorted(rows.items())))
    with BundleReader(prefix) as reader, pytest.raises(errors.DataLossError, match="not UTF-8"):
        list(reader.names())


def test_merging_renames_shards_and_joins_indexes(tmp_path: Path) -> None:
    """Two bundles become one with two shards; the sources are deleted."""
    prefixes = [_write(str(tmp_path / "m")), _write_slices(str(tmp_path / "p"))]
    merged = str(tmp_path / "all")
    merge_bundles(prefixes, merged)
    with BundleReader(merged) as reader:
        assert list(reader.names()) == ["a", "b", "c", "v", "w"]
        assert reader.num_shards == 2
        np.testing.assert_array_equal(reader.lookup("b"), MATRIX)
        assert reader.lookup("w").tolist() == STRINGS.tolist()
        assert reader.lookup("v").shape == (4, 3)


def test_merging_refuses_one_name_twice(tmp_path: Path) -> None:
    """Two whole tensors of one name cannot be merged."""
    prefix = _write(str(tmp_path / "m"))
    with pytest.raises(errors.InvalidArgumentError, match="Duplicate tensor keyed by a"):
        merge_bundles([prefix, prefix], str(tmp_path / "all"))


def test_merging_needs_every_prefix_unless_told(tmp_path: Path) -> None:
    """A missing bundle is an error, unless the option allows it."""
    gone = str(tmp_path / "gone")
    with pytest.raises(errors.InvalidArgumentError, match="did not exist"):
        merge_bundles([gone], str(tmp_path / "all"))
    merge_bundles(
        [_write(str(tmp_path / "m")), gone], str(tmp_path / "all"), allow_missing_files=True
    )
    assert list(BundleReader(str(tmp_path / "all")).names()) == ["a", "b", "c"]


def test_missing_files_and_keys_are_not_found(tmp_path: Path) -> None:
    """A missing index, tensor or data file raises NotFoundError."""
    with pytest.raises(errors.NotFoundError, match="No such file"):
        BundleReader(str(tmp_path / "none"))
    prefix = _write(str(tmp_path / "m"))
    reader = BundleReader(prefix)
    with pytest.raises(errors.NotFoundError, match="Key q not found in checkpoint"):
        reader.lookup("q")
    (tmp_path / "m.data-00000-of-00001").unlink()
    with pytest.raises(errors.NotFoundError, match="No such file"):
        reader.lookup("b")


def test_a_name_is_written_once(tmp_path: Path) -> None:
    """A second tensor of the same name is refused, and nothing is left behind."""
    writer = BundleWriter(str(tmp_path / "m"))
    writer.add("b", MATRIX, dtypes.float32)
    with pytest.raises(errors.InvalidArgumentError, match="Adding duplicate key: b"):
        writer.add("b", MATRIX, dtypes.float32)
    writer.abandon()
    assert list(tmp_path.iterdir()) == []


def test_damaged_data_is_data_loss(tmp_path: Path) -> None:
    """A flipped byte of a tensor is an error only when that tensor is read."""
    prefix = _write(str(tmp_path / "m"))
    path = data_path(prefix, 0, 1)
    with open(path, "r+b") as file:
        file.seek(2)
        file.write(b"\x55")
    with BundleReader(prefix) as reader:
        assert reader.lookup("a").tolist() == STRINGS.tolist()
        with pytest.raises(errors.DataLossError, match="Checksum does not match"):
            reader.lookup("b")


def test_cut_data_is_out_of_range(tmp_path: Path) -> None:
    """A shard shorter than its index says is refused before memory is taken."""
    prefix = _write(str(tmp_path / "m"))
    with open(data_path(prefix, 0, 1), "r+b") as file:
        file.truncate(3)
    with BundleReader(prefix) as reader:
        for name in ("a", "b", "c"):
            with pytest.raises(errors.OutOfRangeError, match="Read less bytes than requested"):
                reader.lookup(name)


def test_damaged_index_is_data_loss(tmp_path: Path) -> None:
    """A flipped byte in the index is refused when the bundle is opened."""
    prefix = _write(str(tmp_path / "m"))
    with open(index_path(prefix), "r+b") as file:
        file.seek(5)
        file.write(b"\xee")
    with pytest.raises(errors.DataLossError, match="block checksum mismatch"):
        BundleReader(prefix)
