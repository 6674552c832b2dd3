"""Readers: records, counters, waiting for names, damaged files."""

from __future__ import annotations

import gzip
import struct
import threading
import zlib
from typing import TYPE_CHECKING, Any

import pytest

import tfnb as tf
from tfnb.core.files import crc32c, file_system
from tfnb.library.queues.record_input import RecordInput

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

ops = tf.raw_ops


class Reading:
    """A reader over files of one folder, with all its ops."""

    def __init__(self, sess: tf.Session, folder: Path, reader: Any) -> None:
        self.sess = sess
        self.folder = folder
        self.names = tf.FIFOQueue(20, tf.string, shapes=[[]])
        queue = self.names.queue_ref
        self.one = ops.ReaderReadV2(reader_handle=reader, queue_handle=queue)
        self.limit = tf.placeholder(tf.int64, [])
        self.several = ops.ReaderReadUpToV2(
            reader_handle=reader, queue_handle=queue, num_records=self.limit
        )
        self.state = tf.placeholder(tf.string, [])
        self.produced = ops.ReaderNumRecordsProducedV2(reader_handle=reader)
        self.completed = ops.ReaderNumWorkUnitsCompletedV2(reader_handle=reader)
        self.reset = ops.ReaderResetV2(reader_handle=reader)
        self.serialize = ops.ReaderSerializeStateV2(reader_handle=reader)
        self.restore = ops.ReaderRestoreStateV2(reader_handle=reader, state=self.state)

    def put(self, *files: bytes | str, close: bool = True) -> None:
        """Put files, made from contents or named, into the queue."""
        names = []
        for number, file in enumerate(files):
            path = self.folder / (file if isinstance(file, str) else f"f{number}")
            if isinstance(file, bytes):
                path.write_bytes(file)
            names.append(str(path))
        self.sess.run(self.names.enqueue_many([names]))
        if close:
            self.sess.run(self.names.close())

    def read(self) -> tuple[str, bytes]:
        """Return the next record; the key without its folder."""
        key, value = self.sess.run(self.one)
        return key.decode().removeprefix(f"{self.folder}/"), value

    def read_up_to(self, limit: int) -> list[bytes]:
        """Return the next values."""
        values: list[bytes] = self.sess.run(self.several, {self.limit: limit})[1].tolist()
        return values

    def counts(self) -> tuple[int, int]:
        """Return the numbers of records and of finished files."""
        produced, completed = self.sess.run([self.produced, self.completed])
        return int(produced), int(completed)


@pytest.fixture
def reading(tmp_path: Path) -> Iterator[Callable[[Any], Reading]]:
    """Make a reader in a session on a separate graph."""
    with tf.Graph().as_default(), tf.Session() as session:
        yield lambda make: Reading(session, tmp_path, make())


def test_lines_come_one_by_one(reading: Callable[[Any], Reading]) -> None:
    """Empty files have none; the keys name file and line."""
    lines = reading(ops.TextLineReaderV2)
    lines.put(b"l1\nl2\n", b"", b"m1\r\nm\r2\n\nlast")
    assert [lines.read() for _ in range(3)] == [("f0:1", b"l1"), ("f0:2", b"l2"), ("f2:1", b"m1")]
    assert lines.counts() == (3, 2)
    assert [lines.read()[1] for _ in range(3)] == [b"m\r2", b"", b"last"]
    with pytest.raises(tf.errors.OutOfRangeError, match="is closed and has insufficient elements"):
        lines.read()
    assert lines.counts() == (6, 3)
    with pytest.raises(tf.errors.UnimplementedError, match="SerializeState"):
        lines.sess.run(lines.serialize)
    lines.sess.run(lines.reset)
    assert lines.counts() == (0, 0)


def test_header_lines_are_skipped(reading: Callable[[Any], Reading]) -> None:
    """Files without other lines are accepted."""
    lines = reading(lambda: ops.TextLineReaderV2(skip_header_lines=3))
    lines.put(b"l1\nl2\n", b"a\nb\nc\nd\n")
    assert lines.read() == ("f1:4", b"d")


def test_several_records_are_of_one_file(reading: Callable[[Any], Reading]) -> None:
    """The number is the requested one, or the rest of the file."""
    lines = reading(ops.TextLineReaderV2)
    lines.put(b"1\n2\n", b"", b"3\n4\n5\n6\n")
    assert lines.read_up_to(3) == [b"1", b"2"]
    assert lines.counts() == (2, 1)
    assert lines.read_up_to(3) == [b"3", b"4", b"5"]
    assert lines.read_up_to(0) == []
    assert lines.read_up_to(5) == [b"6"]
    with pytest.raises(tf.errors.OutOfRangeError):
        lines.read_up_to(5)
    with pytest.raises(tf.errors.InvalidArgumentError, match="num_records must be >= 0"):
        lines.read_up_to(-1)


def test_a_missing_file_costs_one_read(reading: Callable[[Any], Reading]) -> None:
    """The next read takes the next name."""
    lines = reading(ops.TextLineReaderV2)
    lines.put("nope", b"l1\n")
    with pytest.raises(tf.errors.NotFoundError, match="No such file"):
        lines.read()
    assert lines.counts() == (0, 0)
    assert lines.read() == ("f1:1", b"l1")


def test_a_read_waits_for_a_name(reading: Callable[[Any], Reading]) -> None:
    """Waiting reads continue when names come, one after the other."""
    names = reading(ops.IdentityReaderV2)
    got: list[str] = []
    threads = [threading.Thread(target=lambda: got.append(names.read()[0])) for _ in range(3)]
    for thread in threads:
        thread.start()
    names.put("a", "b", close=False)
    names.put("c")
    for thread in threads:
        thread.join(60)
    assert sorted(got) == ["a", "b", "c"]


def test_names_and_whole_files_are_records(reading: Callable[[Any], Reading]) -> None:
    """The file is finished as soon as its record is read."""
    names = reading(ops.IdentityReaderV2)
    names.put("a", "b")
    assert names.read() == ("a", f"{names.folder}/a".encode())
    assert names.counts() == (1, 1)
    assert names.read_up_to(5) == [f"{names.folder}/b".encode()]
    files = reading(ops.WholeFileReaderV2)
    files.put(b"l1\nl2\n", "nope")
    assert files.read() == ("f0", b"l1\nl2\n")
    for _ in range(2):
        with pytest.raises(tf.errors.NotFoundError, match="nope; No such file"):
            files.read()


def test_a_state_can_be_kept(reading: Callable[[Any], Reading]) -> None:
    """The bytes equal TensorFlow's; invalid bytes are refused."""
    names = reading(ops.IdentityReaderV2)
    names.put("a", "b")
    name = f"{names.folder}/a".encode()
    names.read()
    state = names.sess.run(names.serialize)
    assert state == b'\x08\x01\x10\x01\x18\x01"' + bytes([len(name)]) + name
    names.read()
    names.sess.run(names.restore, {names.state: state})
    assert names.counts() == (1, 1)
    for bad, message in (
        (b"x", "Could not parse state for IdentityReader"),
        (b"\x08\x05\x10\x04", "Inconsistent work started vs. finished"),
        (b"\x18" + b"\xff" * 9 + b"\x01", "Unexpected negative value"),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            names.sess.run(names.restore, {names.state: bad})


def compressed(data: bytes, how: str) -> bytes:
    """Return the contents as a compressed file."""
    if not how:
        return data
    return gzip.compress(data) if how == "GZIP" else zlib.compress(data)


@pytest.mark.parametrize(
    ("hop", "values"),
    [
        (0, [b"aaaa", b"bbbb", b"cccc"]),
        (2, [b"aaaa", b"aabb", b"bbbb", b"bbcc", b"cccc", b"ccdd"]),
        (5, [b"aaaa", b"bbbc", b"ccdd"]),
    ],
)
@pytest.mark.parametrize("encoding", ["", "GZIP", "ZLIB"])
def test_records_of_one_size(
    reading: Callable[[Any], Reading], hop: int, values: list[bytes], encoding: str
) -> None:
    """Records are between header and footer, compressed or not."""
    plain = b"HHaaaabbbbccccddF"
    packed = compressed(plain, encoding)
    records = reading(
        lambda: ops.FixedLengthRecordReaderV2(
            record_bytes=4, header_bytes=2, footer_bytes=1, hop_bytes=hop, encoding=encoding
        )
    )
    records.put(packed)
    assert records.read_up_to(20) == values


def test_sizes_are_checked(reading: Callable[[Any], Reading]) -> None:
    """Negative sizes, and files shorter than the header, are refused."""
    records = reading(lambda: ops.FixedLengthRecordReaderV2(record_bytes=1, footer_bytes=-1))
    with pytest.raises(tf.errors.InvalidArgumentError, match="footer_bytes must be >= 0 not -1"):
        records.read()
    records = reading(lambda: ops.FixedLengthRecordReaderV2(record_bytes=1, header_bytes=9))
    records.put(b"short")
    with pytest.raises(tf.errors.OutOfRangeError, match="reached end of file"):
        records.read()


def tf_record(data: bytes) -> bytes:
    """Return a record of a TFRecord file."""
    length = struct.pack("<Q", len(data))
    sums = [struct.pack("<I", crc32c.mask(crc32c.crc32c(part))) for part in (length, data)]
    return length + sums[0] + data + sums[1]


RECORDS = tf_record(b"one") + tf_record(b"") + tf_record(b"three")


@pytest.mark.parametrize("compression", ["GZIP", "ZLIB"])
def test_a_compressed_file_unfolds_to_what_is_allowed(tmp_path: Path, compression: str) -> None:
    """The limit of the step applies to contents of files, too."""
    path = tmp_path / "zeros"
    path.write_bytes(compressed(bytes(10_000_000), compression))
    with tf.Graph().as_default() as graph, tf.Session() as sess:
        lines = tf.data.TextLineDataset(str(path), compression)
        length = tf.strings.length(tf.data.make_one_shot_iterator(lines).get_next())
        tf.safety.limits(graph, max_tensor_bytes=1_000_000)
        with pytest.raises(tf.errors.ResourceExhaustedError, match="compressed bytes become"):
            sess.run(length)


@pytest.mark.parametrize("compression", ["", "GZIP", "ZLIB"])
def test_tf_records(reading: Callable[[Any], Reading], compression: str) -> None:
    """The keys give the positions of records."""
    packed = compressed(RECORDS, compression)
    records = reading(lambda: ops.TFRecordReaderV2(compression_type=compression))
    records.put(packed)
    found = [records.read() for _ in range(3)]
    assert found == [("f0:0", b"one"), ("f0:19", b""), ("f0:35", b"three")]


@pytest.mark.parametrize(
    ("contents", "good", "message"),
    [
        (RECORDS[:-3], 2, "truncated record at 35"),
        (RECORDS[:13] + b"X" + RECORDS[14:], 0, "corrupted record at 12"),
        (b"\x01" + RECORDS[1:], 0, "corrupted record at 0 .Is this even a TFRecord file"),
    ],
)
def test_damage_is_found(
    reading: Callable[[Any], Reading], contents: bytes, good: int, message: str
) -> None:
    """Every further read raises the error again."""
    records = reading(ops.TFRecordReaderV2)
    records.put(contents)
    for _ in range(good):
        records.read()
    for _ in range(2):
        with pytest.raises(tf.errors.DataLossError, match=message):
            records.read()
    assert records.counts() == (good, 0)


def test_the_queue_holds_single_strings(reading: Callable[[Any], Reading]) -> None:
    """Queues of other elements are refused."""
    sess = reading(ops.IdentityReaderV2).sess
    for queue, message in (
        (tf.FIFOQueue(3, [tf.string, tf.string]), "Expected single component queue"),
        (tf.FIFOQueue(3, [tf.int32]), "Expected queue with single string component"),
    ):
        handle = ops.IdentityReaderV2()
        read = ops.ReaderReadV2(reader_handle=handle, queue_handle=queue.queue_ref)
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            sess.run(read)


def test_the_classes_read_what_their_ops_read(tmp_path: Path) -> None:
    """Each class reads one file, with its counters and its state."""
    path = tmp_path / "f"
    path.write_bytes(b"head\nab\ncd")
    with tf.Graph().as_default(), tf.Session() as sess:
        queue = tf.train.string_input_producer([str(path)], num_epochs=1)
        sess.run(tf.local_variables_initializer())
        put = queue.enqueue(str(path))
        lines = tf.TextLineReader(skip_header_lines=1)
        pieces = tf.FixedLengthRecordReader(3, header_bytes=5, footer_bytes=0, hop_bytes=1)
        seen = []
        for reader in (lines, pieces, tf.WholeFileReader(), tf.IdentityReader()):
            sess.run(put)
            seen.append(sess.run(reader.read_up_to(queue, 9))[1].tolist())
        assert seen == [[b"ab", b"cd"], [b"ab\n", b"b\nc", b"\ncd"], [path.read_bytes()],
                        [str(path).encode()]]  # fmt: skip
        assert sess.run([lines.num_records_produced(), lines.num_work_units_completed()]) == [2, 1]
        sess.run(lines.reset())
        assert sess.run(lines.num_records_produced()) == 0
        names = tf.IdentityReader()
        assert names.supports_serialize
        assert not lines.supports_serialize
        state = sess.run(names.serialize_state())
        sess.run(put)
        assert sess.run(names.read(queue)).value == str(path).encode()
        sess.run(names.restore_state(state))
        assert sess.run(names.num_records_produced()) == 0


def test_records_may_be_compressed(tmp_path: Path) -> None:
    """The options are an object, a number or a word."""
    with tf.Graph().as_default():
        for options, word in (("GZIP", b"GZIP"), (1, b"ZLIB"), (None, b"")):
            op = tf.TFRecordReader(options=options).reader_ref.op
            assert op.get_attr("compression_type") == word
        with pytest.raises(ValueError, match="Not a valid compression_type: 'LZ'"):
            tf.TFRecordReader(options="LZ")


def test_the_first_versions_of_the_ops_read_too() -> None:
    """Their handles are references, as in old files."""
    with tf.Graph().as_default(), tf.Session() as sess:
        queue = ops.FIFOQueue(component_types=[tf.string], shapes=[[]])
        sess.run(ops.QueueEnqueueMany(handle=queue, components=[[b"a", b"b"]]))
        reader = ops.WholeFileReader(shared_name="reader")
        read = ops.ReaderRead(reader_handle=reader, queue_handle=queue)
        with pytest.raises(tf.errors.NotFoundError):
            sess.run(read)
        assert sess.run(reader).tolist() == [b"localhost", b"reader"]
        assert sess.run(ops.ReaderNumRecordsProduced(reader_handle=reader)) == 0
        sess.run(ops.ReaderReset(reader_handle=reader))


def _as_records(records: list[bytes]) -> bytes:
    """Return a TFRecord file's bytes."""
    out = b""
    for record in records:
        head = struct.pack("<Q", len(record))
        out += head + struct.pack("<I", crc32c.mask(crc32c.crc32c(head)))
        out += record + struct.pack("<I", crc32c.mask(crc32c.crc32c(record)))
    return out


def test_record_input_gives_each_record_once_an_epoch(tmp_path: Path) -> None:
    """The seed determines the order; files may be compressed.

    Several batches are read at a time.
    """
    for number in range(3):
        records = [b"%d%d" % (number, i) for i in range(4)]
        (tmp_path / f"r{number}").write_bytes(_as_records(records))
        (tmp_path / f"z{number}").write_bytes(gzip.compress(_as_records(records)))
    every = sorted(b"%d%d" % (number, i) for number in range(3) for i in range(4))

    def epochs(pattern: str, **options: Any) -> list[list[bytes]]:
        with tf.Graph().as_default(), tf.Session() as sess:
            source = RecordInput(str(tmp_path / pattern), 6, buffer_size=5, **options)
            op = source.get_yield_op()
            return [[*sess.run(op).tolist(), *sess.run(op).tolist()] for _ in range(2)]

    first = epochs("r*", seed=1, shift_ratio=0.5)
    assert [sorted(epoch) for epoch in first] == [every, every]
    assert first[0] != first[1]
    assert epochs("r*", seed=1, shift_ratio=0.5) == first
    assert epochs("z*", seed=1, shift_ratio=0.5, compression_type="GZIP") == first
    with tf.Graph().as_default(), tf.Session() as sess:
        batches = sess.run(RecordInput(str(tmp_path / "r*"), 6, batches=2).get_yield_op())
        assert sorted(batches[0] + batches[1]) == every
        with pytest.raises(tf.errors.NotFoundError, match="Found no files at"):
            sess.run(RecordInput(str(tmp_path / "none*")).get_yield_op())
        with pytest.raises(tf.errors.DataLossError):
            sess.run(RecordInput(str(tmp_path / "z*")).get_yield_op())


def test_record_input_goes_on_after_an_interrupt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The files are read again."""
    (tmp_path / "r").write_bytes(_as_records([b"a"]))
    read = file_system.read_file
    is_interrupted = iter([True])

    def read_file(name: str) -> bytes:
        if next(is_interrupted, False):
            raise KeyboardInterrupt
        return read(name)

    monkeypatch.setattr(file_system, "read_file", read_file)
    with tf.Graph().as_default(), tf.Session() as sess:
        op = RecordInput(str(tmp_path / "r"), 2).get_yield_op()
        with pytest.raises(KeyboardInterrupt):
            sess.run(op)
        assert sess.run(op).tolist() == [b"a", b"a"]
