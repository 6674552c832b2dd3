"""``tf.python_io``: TFRecord files, written and read, and TensorFlow's own."""

from __future__ import annotations

import base64
import gzip
import json
import random
from pathlib import Path
from typing import Any

import pytest

import tfnb as tf
from tfnb.core.files import tf_record

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "event_files.json").read_text())
RECORDS = [b"", b"one", bytes(range(256)) * 40]
KINDS = ("", "ZLIB", "GZIP")


@pytest.mark.parametrize("kind", KINDS)
def test_records_of_tensorflow_are_read(tmp_path: Path, kind: str) -> None:
    """The records of a file of TensorFlow are read."""
    path = tmp_path / "records"
    path.write_bytes(base64.b64decode(GOLDEN[f"records{kind}"]))
    found = list(tf.io.tf_record_iterator(path, tf.io.TFRecordOptions(kind)))
    assert found == RECORDS


@pytest.mark.parametrize("kind", KINDS)
def test_records_come_back(tmp_path: Path, kind: str) -> None:
    """Written records are read, whether flushed or not."""
    path = tmp_path / "records"
    options = tf.python_io.TFRecordOptions(kind, compression_level=9, window_bits=12)
    with tf.python_io.TFRecordWriter(path, options) as writer:
        for record in RECORDS:
            writer.write(record)
            writer.flush()
    assert list(tf.python_io.tf_record_iterator(path, options)) == RECORDS


def test_uncompressed_files_are_tensorflows_to_the_byte(tmp_path: Path) -> None:
    """The bytes of an uncompressed file equal TensorFlow's."""
    path = tmp_path / "records"
    with tf.io.TFRecordWriter(path) as writer:
        for record in RECORDS:
            writer.write(record)
    assert path.read_bytes() == base64.b64decode(GOLDEN["records"])


def test_a_flushed_record_is_seen_before_the_end(tmp_path: Path) -> None:
    """A reader sees flushed records while the file is still being written."""
    path = tmp_path / "records"
    with tf.io.TFRecordWriter(path) as writer:
        writer.write(b"first")
        writer.flush()
        assert list(tf.io.tf_record_iterator(path)) == [b"first"]


def damaged(tmp_path: Path, change: str) -> Path:
    """Return a file of three records with a defect."""
    path = tmp_path / "records"
    with tf.io.TFRecordWriter(path) as writer:
        for index in range(3):
            writer.write(b"rec%d" % index)
    data = bytearray(path.read_bytes())
    if change == "length":
        data[0] ^= 1
    elif change == "data":
        data[13] ^= 1
    elif change == "tail":
        del data[-2:]
    else:
        del data[-15:]
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(
    ("change", "message", "whole"),
    [
        ("length", "corrupted record at 0", 0),
        ("data", "corrupted record at 12", 0),
        ("tail", "truncated record at 40", 2),
    ],
)
def test_damage_is_noticed_where_it_is(
    tmp_path: Path, change: str, message: str, whole: int
) -> None:
    """A wrong checksum or a missing end raises an error after the records before it."""
    records = tf.io.tf_record_iterator(damaged(tmp_path, change))
    assert [next(records) for _ in range(whole)] == [b"rec0", b"rec1"][:whole]
    with pytest.raises(tf.errors.DataLossError, match=message):
        next(records)


def test_a_header_that_is_not_whole_is_the_end(tmp_path: Path) -> None:
    """An incomplete header ends the file, because a file being written may end there."""
    assert len(list(tf.io.tf_record_iterator(damaged(tmp_path, "header")))) == 2


def test_missing_files_and_directories_are_not_found(tmp_path: Path) -> None:
    """Reading and writing raise NotFoundError with the path."""
    with pytest.raises(tf.errors.NotFoundError, match="none"):
        list(tf.io.tf_record_iterator(tmp_path / "none"))
    with pytest.raises(tf.errors.NotFoundError, match="nowhere"):
        tf.io.TFRecordWriter(tmp_path / "nowhere" / "file")


def test_a_closed_writer_refuses(tmp_path: Path) -> None:
    """Closing twice is harmless, writing afterwards is refused."""
    writer = tf.io.TFRecordWriter(tmp_path / "file")
    writer.close()
    writer.close()
    with pytest.raises(tf.errors.FailedPreconditionError, match="Writer is closed"):
        writer.write(b"late")
    with pytest.raises(tf.errors.FailedPreconditionError, match="Writer is closed"):
        writer.flush()


def test_kinds_of_compression_have_numbers_and_names() -> None:
    """Numbers and names of compression kinds are equivalent; others are refused."""
    options = tf.io.TFRecordOptions
    assert options.get_compression_type_string(tf.io.TFRecordCompressionType.GZIP) == "GZIP"
    assert options.get_compression_type_string(options("ZLIB")) == "ZLIB"
    with pytest.raises(ValueError, match='Not a valid compression_type: "BAD"'):
        options("BAD")


def test_many_short_streams_are_copied_a_few_times_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """The work grows with the size of a file, not with its square."""
    data = gzip.compress(b"") * 2000 + gzip.compress(b"end")
    given = []
    inflate = tf_record.inflated_stream

    def counted(stream: Any, part: Any, *rest: Any) -> Any:
        given.append(len(part))
        return inflate(stream, part, *rest)

    monkeypatch.setattr(tf_record, "inflated_stream", counted)
    assert tf_record.inflated(data, "GZIP") == b"end"
    assert sum(given) < 300 * len(data)


@pytest.mark.parametrize("size", [0, 1, 4095, 4096, 4097, 100_000])
def test_streams_of_all_sizes_are_read_to_their_end(size: int) -> None:
    """A stream may end at any place of a piece."""
    text = random.Random(size).randbytes(size)
    data = b"".join(gzip.compress(part) for part in (text, b"", text[:10]))
    assert tf_record.inflated(data, "GZIP") == text + text[:10]
    assert tf_record.inflated(data[:-1], "GZIP") == text + text[:10]
