"""Random programs of files: writing, reading, matching, checkpoints, readers, tables, datasets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import tfnb as tf
from tests.random_programs.programs import Program, array, programs
from tfnb.core.files.tf_record import framed

if TYPE_CHECKING:
    from tests.random_calls.draws import Draw


def _text(value: bytes) -> Any:
    return np.array(value, object)


def _texts(*values: bytes) -> Any:
    found = np.empty(len(values), object)
    found[:] = values
    return found


def _write(p: Program, name: bytes, data: bytes) -> None:
    p.run(p.raw("WriteFile", filename=_text(name), contents=_text(data)))


def _lines(d: Draw) -> bytes:
    lines = [d.one([b"one", b"two 2", b"", b"three\r"]) for _ in range(d.number(0, 4))]
    return b"\n".join(lines) + (b"\n" if d.chance(0.6) else b"")


def _records(d: Draw) -> bytes:
    out = b""
    for _ in range(d.number(0, 3)):
        data = d.one([b"", b"abc", b"record"])
        out += framed(data)
    if d.chance(0.1) and out:
        out = out[:-2]
    return out


def _data(d: Draw, kind: str) -> bytes:
    if kind == "records":
        return _records(d)
    return _lines(d) if kind == "lines" else bytes(range(d.number(0, 9)))


@programs
def written(d: Draw, p: Program) -> None:
    """Files are written, read and matched."""
    for _ in range(d.number(2, 6)):
        name = d.one([b"a.txt", b"b.txt", b"sub/c.dat"])
        kind = d.one("write write read read match lower")
        if kind == "write":
            _write(p, name, d.text() * d.number(1, 3))
        elif kind == "read":
            p.run(p.raw("ReadFile", filename=_text(name)))
        elif kind == "match":
            patterns = _texts(
                *d.one([(b"*.txt",), (b"?.txt", b"sub/*"), (b"none*",), (b"[b-z].*",)])
            )
            p.run(p.raw("MatchingFiles", pattern=patterns if d.chance(0.5) else _text(patterns[0])))
        else:
            shards = [np.array(v, np.int32) for v in (d.number(0, 3), d.number(1, 20000))]
            p.run(p.raw("ShardedFilename", basename=_text(name), shard=shards[0],
                        num_shards=shards[1]))  # fmt: skip
            p.run(p.raw("ShardedFilespec", basename=_text(name), num_shards=shards[1]))


@programs
def checkpoint(d: Draw, p: Program) -> None:
    """Tensors saved in both formats, merged, and read back whole or in slices."""
    words = [d.one("float32 int64 string bool float16 int8 complex64") for _ in range(2)]
    values = [array(d, word, d.shape(1, 2, 3)) for word in words]
    names = [b"first", b"scope/second"]
    is_old = d.chance(0.3)
    prefix = b"model.old" if is_old else b"model"
    if is_old:
        values = [array(d, d.one("float32 int64 int32"), v.shape) for v in values]
        p.run(p.raw("SaveSlices", filename=_text(prefix), tensor_names=_texts(*names),
                    shapes_and_slices=_texts(b"", b""), data=values))  # fmt: skip
    else:
        parts = d.chance(0.4)
        for place, (name, value) in enumerate(zip(names, values, strict=True)):
            target = prefix + b"_part%d" % place if parts else prefix
            if parts:
                p.run(p.raw("SaveV2", prefix=_text(target), tensor_names=_texts(name),
                            shape_and_slices=_texts(b""), tensors=[value]))  # fmt: skip
            elif place == 0:
                p.run(p.raw("SaveV2", prefix=_text(target), tensor_names=_texts(*names),
                            shape_and_slices=_texts(b"", b""), tensors=values))  # fmt: skip
        if parts:
            both = _texts(*(prefix + b"_part%d" % place for place in range(2)))
            p.run(p.raw("MergeV2Checkpoints", checkpoint_prefixes=both,
                        destination_prefix=_text(prefix), delete_old_dirs=False))  # fmt: skip
    for _ in range(d.number(1, 4)):
        place = d.number(0, 1)
        value, name = values[place], names[place] if d.chance(0.9) else b"missing"
        dtype = tf.as_dtype("string" if value.dtype == object else value.dtype)
        if d.chance(0.1):
            dtype = tf.float64
        part = b""
        # TensorFlow reads no slices of strings and halves.
        if d.chance(0.3) and value.dtype not in (np.dtype(object), np.dtype(np.float16)):
            begin = d.number(0, max(value.shape[0] - 1, 0))
            dims = b" ".join(b"%d" % n for n in value.shape)
            rest = b":".join([b"%d,%d" % (begin, d.number(1, 2)), *[b"-"] * (value.ndim - 1)])
            part = dims + b" " + rest
        if is_old and d.chance(0.5):
            p.run(p.raw("RestoreSlice", file_pattern=_text(prefix), tensor_name=_text(name),
                        shape_and_slice=_text(part), dt=dtype))  # fmt: skip
        elif is_old and not part and d.chance(0.3):
            p.run(p.raw("Restore", file_pattern=_text(prefix), tensor_name=_text(name), dt=dtype))
        else:
            p.run(p.raw("RestoreV2", prefix=_text(prefix), tensor_names=_texts(name),
                        shape_and_slices=_texts(part), dtypes=[dtype]))  # fmt: skip


@programs
def reader(d: Draw, p: Program) -> None:
    """Readers that take file names from a queue, which is then closed."""
    kind = d.one("TextLine TFRecord WholeFile FixedLengthRecord Identity")
    content = {"TFRecord": "records", "TextLine": "lines"}.get(kind, "bytes")
    names = [b"in%d" % place for place in range(d.number(1, 2))]
    for name in names:
        _write(p, name, _data(d, content))
    if d.chance(0.1):
        names.append(b"missing")
    attrs: dict[str, Any] = {}
    if kind == "TextLine":
        attrs["skip_header_lines"] = d.one([0, 0, 1])
    if kind == "FixedLengthRecord":
        attrs = {"record_bytes": d.number(1, 3), "header_bytes": d.one([0, 1]),
                 "footer_bytes": d.one([0, 1])}  # fmt: skip
    handle = p.raw(f"{kind}ReaderV2", shared_name="reader", **attrs)
    queue = p.raw("FIFOQueueV2", component_types=[tf.string], shapes=[[]], capacity=9,
                  shared_name="names")  # fmt: skip
    p.run(p.raw("QueueEnqueueManyV2", handle=queue, components=[_texts(*names)]))
    p.run(p.raw("QueueCloseV2", handle=queue))
    both = {"reader_handle": handle, "queue_handle": queue}
    state: Any = None
    for _ in range(d.number(2, 8)):
        action = d.one("read read read many records units reset state")
        if action == "read":
            p.run(p.raw("ReaderReadV2", **both))
        elif action == "many":
            p.run(p.raw("ReaderReadUpToV2", num_records=np.int64(d.number(0, 3)), **both))
        elif action == "records":
            p.run(p.raw("ReaderNumRecordsProducedV2", reader_handle=handle))
        elif action == "units":
            p.run(p.raw("ReaderNumWorkUnitsCompletedV2", reader_handle=handle))
        elif action == "reset" and d.chance(0.4):
            p.run(p.raw("ReaderResetV2", reader_handle=handle))
        elif action == "state" and kind == "Identity":
            state = p.raw("ReaderSerializeStateV2", reader_handle=handle)
            p.run(state)
            p.run(p.raw("ReaderRestoreStateV2", reader_handle=handle, state=state))


@programs
def lines(d: Draw, p: Program) -> None:
    """Datasets and tables of files."""
    kind = d.one("TextLineDataset TFRecordDataset FixedLengthRecordDataset table table")
    content = {"TFRecordDataset": "records", "FixedLengthRecordDataset": "bytes"}.get(kind, "lines")
    if kind == "table":
        rows = [b"%s %d" % (key, d.number(0, 9)) for key in (b"a", b"b", b"c", b"a")]
        count = d.number(0, 4) if d.chance(0.3) else 3
        _write(p, b"words", b"\n".join(rows[:count]) + b"\n" * d.number(0, 1))
        handle = p.raw("HashTableV2", key_dtype=tf.string, value_dtype=tf.int64, shared_name="t")
        places = d.one([(0, 1), (-2, -1), (0, -1), (0, 2), (-1, -2)])
        p.run(p.raw(
            "InitializeTableFromTextFileV2", table_handle=handle, filename=_text(b"words"),
            key_index=places[0], value_index=places[1], delimiter=" ",
            vocab_size=d.one([-1, -1, 2]),
        ))  # fmt: skip
        p.run(p.raw("LookupTableSizeV2", table_handle=handle))
        p.run(p.raw("LookupTableFindV2", table_handle=handle, keys=_texts(b"a", b"z", b"b 1"),
                    default_value=np.int64(-7)))  # fmt: skip
        return
    names = _texts(*(b"part%d" % place for place in range(d.number(1, 2))))
    header = d.one([0, 1])
    for name in names:
        _write(p, name, bytes(range(6 + header)) if content == "bytes" else _data(d, content))
    common: dict[str, Any] = {"filenames": names, "buffer_size": np.int64(0)}
    if kind == "FixedLengthRecordDataset":
        common["compression_type"] = _text(b"")
        made = p.raw(f"{kind}V2", header_bytes=np.int64(header), footer_bytes=np.int64(0),
                     record_bytes=np.int64(d.number(1, 3)), **common)  # fmt: skip
    else:
        made = p.raw(kind, compression_type=_text(b""), **common)
    known = {"output_types": [tf.string], "output_shapes": [[]]}
    iterator = p.raw("IteratorV2", shared_name="it", container="", **known)
    p.run(p.raw("MakeIterator", dataset=made, iterator=iterator))
    following = p.raw("IteratorGetNext", iterator=iterator, **known)
    for _ in range(d.number(2, 7)):
        p.run(following)
