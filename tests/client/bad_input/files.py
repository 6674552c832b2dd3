"""Files that are damaged or of another kind, and texts made to cause harm.

The path is fed, so that a loaded graph may read it.
"""

from __future__ import annotations

import gzip
import io
import struct
import tempfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from tests.client.bad_input.writing import (
    FLOAT,
    INT,
    STRING,
    case,
    const,
    node,
    placeholder,
    run_nodes,
    text,
)


def strings(*values: bytes) -> Any:
    """A vector of strings."""
    return np.array(values, object)


def string(value: bytes) -> Any:
    """A scalar string."""
    return np.array(value, object)


def _restore(tf: Any, sess: Any, prefix: Path) -> Any:
    return run_nodes(
        tf,
        sess,
        "bad:0",
        placeholder("prefix", STRING),
        const("names", STRING, "string_val: 'v'", (1,)),
        const("slices", STRING, "string_val: ''", (1,)),
        node("bad", "RestoreV2", "prefix", "names", "slices", dtypes="list { type: DT_FLOAT }"),
        feeds={"prefix:0": string(str(prefix).encode())},
    )


def _checkpoint(tf: Any, folder: str) -> Path:
    prefix = Path(folder, "model")
    with tf.Graph().as_default(), tf.Session() as session:
        save = tf.raw_ops.SaveV2(
            prefix=str(prefix), tensor_names=["v"], shape_and_slices=[""],
            tensors=[tf.constant(np.arange(1000, dtype=np.float32))],
        )  # fmt: skip
        session.run(save)
    return prefix


def _index(prefix: Path) -> Path:
    return prefix.with_name("model.index")


def _data(prefix: Path) -> Path:
    return prefix.with_name("model.data-00000-of-00001")


@case("bad")
def checkpoint_index_is_something_else(tf: Any, sess: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        prefix = _checkpoint(tf, folder)
        _index(prefix).write_bytes(b"this is no table at all" * 100)
        return _restore(tf, sess, prefix)


@case("bad")
def checkpoint_index_is_empty(tf: Any, sess: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        prefix = _checkpoint(tf, folder)
        _index(prefix).write_bytes(b"")
        return _restore(tf, sess, prefix)


@case("bad")
def checkpoint_index_is_cut_off(tf: Any, sess: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        prefix = _checkpoint(tf, folder)
        _index(prefix).write_bytes(_index(prefix).read_bytes()[:-20])
        return _restore(tf, sess, prefix)


@case("bad")
def checkpoint_index_has_a_flipped_bit(tf: Any, sess: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        prefix = _checkpoint(tf, folder)
        content = bytearray(_index(prefix).read_bytes())
        content[10] ^= 1
        _index(prefix).write_bytes(content)
        return _restore(tf, sess, prefix)


@case("bad")
def checkpoint_data_is_missing(tf: Any, sess: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        prefix = _checkpoint(tf, folder)
        _data(prefix).unlink()
        return _restore(tf, sess, prefix)


@case("bad")
def checkpoint_data_is_cut_off(tf: Any, sess: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        prefix = _checkpoint(tf, folder)
        _data(prefix).write_bytes(_data(prefix).read_bytes()[:100])
        return _restore(tf, sess, prefix)


@case("bad")
def checkpoint_data_has_a_flipped_bit(tf: Any, sess: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        prefix = _checkpoint(tf, folder)
        content = bytearray(_data(prefix).read_bytes())
        content[10] ^= 1
        _data(prefix).write_bytes(content)
        return _restore(tf, sess, prefix)


@case("bad")
def checkpoint_is_a_folder(tf: Any, sess: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        return _restore(tf, sess, Path(folder))


def _read_records(tf: Any, sess: Any, content: bytes) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "records")
        path.write_bytes(content)
        graph = (
            placeholder("path", STRING),
            node("queue", "FIFOQueueV2", component_types="list { type: DT_STRING }"),
            node("put", "QueueEnqueueV2", "queue", "path", Tcomponents="list { type: DT_STRING }"),
            node("reader", "TFRecordReaderV2"),
            node("bad", "ReaderReadV2", "reader", "queue"),
        )
        run_nodes(tf, sess, "put", *graph, feeds={"path:0": string(str(path).encode())})
        return sess.run("bad:1")


@case("bad")
def records_that_are_none(tf: Any, sess: Any) -> Any:
    return _read_records(tf, sess, b"not a record, but long enough to be one")


@case("bad")
def record_of_an_enormous_length(tf: Any, sess: Any) -> Any:
    return _read_records(tf, sess, struct.pack("<QI", 2**62, 0) + b"x")


@case("bad")
def read_file_that_is_a_folder(tf: Any, sess: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        return run_nodes(
            tf,
            sess,
            "bad:0",
            placeholder("path", STRING),
            node("bad", "ReadFile", "path"),
            feeds={"path:0": string(folder.encode())},
        )


def _run_text(tf: Any, sess: Any, op: str, *values: Any, **attrs: str) -> Any:
    names = [f"in{position}" for position in range(len(values))]
    return run_nodes(
        tf,
        sess,
        "bad:0",
        *[placeholder(name, STRING) for name in names],
        node("bad", op, *names, **attrs),
        feeds={f"{name}:0": value for name, value in zip(names, values)},
    )


@case("bad")
def regex_that_is_none(tf: Any, sess: Any) -> Any:
    return _run_text(
        tf, sess, "RegexReplace", string(b"text"), string(b"(unclosed"), string(b""),
        replace_global="b: true",
    )  # fmt: skip


@case()
def regex_that_backtracks_without_end(tf: Any, sess: Any) -> Any:
    found = _run_text(
        tf, sess, "RegexReplace", string(b"a" * 64 + b"!"), string(b"(a+)+$"), string(b"x"),
        replace_global="b: true",
    )  # fmt: skip
    return bytes(found)[-2:]


@case()
def regex_of_many_stars(tf: Any, sess: Any) -> Any:
    pattern = string(b"(.*)(.*)(.*)(.*)(.*)(.*)[^x]y")
    return bool(_run_text(tf, sess, "RegexFullMatch", string(b"x" * 500), pattern))


@case("bad")
def regex_that_repeats_too_much(tf: Any, sess: Any) -> Any:
    return _run_text(tf, sess, "RegexFullMatch", string(b"a"), string(b"((a{1000}){1000}){1000}"))


@case("bad")
def base64_of_something_else(tf: Any, sess: Any) -> Any:
    return _run_text(tf, sess, "DecodeBase64", string(b"!!!*"))


@case("bad")
def tensor_text_of_something_else(tf: Any, sess: Any) -> Any:
    return _run_text(tf, sess, "ParseTensor", string(b"\xff\xfe nonsense"), out_type=FLOAT)


@case("bad")
def tensor_text_of_8_terabytes(tf: Any, sess: Any) -> Any:
    message = tf.make_tensor_proto(1.0)
    message.tensor_shape.dim.add().size = 1 << 41
    return _run_text(tf, sess, "ParseTensor", string(message.SerializeToString()), out_type=FLOAT)


@case("bad")
def compressed_text_that_is_none(tf: Any, sess: Any) -> Any:
    return _run_text(
        tf, sess, "DecodeCompressed", string(b"no gzip"), compression_type=text("GZIP")
    )


@case("bad")
def compressed_text_that_is_cut_off(tf: Any, sess: Any) -> Any:
    return _run_text(
        tf, sess, "DecodeCompressed", string(gzip.compress(b"x" * 99)[:-12]),
        compression_type=text("GZIP"),
    )  # fmt: skip


@case("bad")
def table_line_with_too_few_columns(tf: Any, sess: Any) -> Any:
    return run_nodes(
        tf,
        sess,
        "bad:0",
        placeholder("line", STRING),
        const("first", INT, "int_val: 0", (1,)),
        const("second", INT, "int_val: 0", (1,)),
        node(
            "bad", "DecodeCSV", "line", "first", "second",
            OUT_TYPE="list { type: DT_INT32 type: DT_INT32 }",
        ),
        feeds={"line:0": strings(b"1")},
    )  # fmt: skip


def _png(width: int, height: int, rows: bytes) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


@case("bad")
def picture_of_something_else(tf: Any, sess: Any) -> Any:
    return _run_text(tf, sess, "DecodePng", string(b"no picture"))


@case("bad")
def picture_that_is_cut_off(tf: Any, sess: Any) -> Any:
    whole = _png(9, 9, zlib.compress(b"\0" * 90))
    return _run_text(tf, sess, "DecodePng", string(whole[:50]))


@case("bad")
def picture_that_unfolds_to_gigabytes(tf: Any, sess: Any) -> Any:
    return _run_text(tf, sess, "DecodePng", string(_png(1 << 30, 1 << 30, zlib.compress(b"\0"))))


@case("bad")
def sound_of_something_else(tf: Any, sess: Any) -> Any:
    return _run_text(tf, sess, "DecodeWav", string(b"RIFF no sound"))


@case("bad")
def sound_of_an_enormous_length(tf: Any, sess: Any) -> Any:
    head = b"RIFF\xff\xff\xff\x7fWAVEfmt " + struct.pack("<IHHIIHH", 16, 1, 1, 8000, 16000, 2, 16)
    return _run_text(tf, sess, "DecodeWav", string(head + b"data\xf0\xff\xff\x7f\0\0"))


@case("bad")
def example_that_is_none(tf: Any, sess: Any) -> Any:
    return run_nodes(
        tf,
        sess,
        "bad:0",
        placeholder("text", STRING),
        const("default", FLOAT, "", (0,)),
        const("name", STRING, "", (0,)),
        const("key", STRING, "string_val: 'k'"),
        node(
            "bad", "ParseExample", "text", "name", "key", "default",
            Nsparse="i: 0", Ndense="i: 1", sparse_types="list { }",
            Tdense="list { type: DT_FLOAT }", dense_shapes="list { shape { dim { size: 1 } } }",
        ),
        feeds={"text:0": strings(b"\xff\xff\xff nonsense")},
    )  # fmt: skip


@case("bad")
def debugger_that_writes_to_a_file(tf: Any, sess: Any) -> Any:
    return run_nodes(
        tf,
        sess,
        "bad:0",
        const("c", FLOAT, "float_val: 1"),
        node(
            "bad", "DebugIdentity", "c", T=FLOAT,
            debug_urls="list { s: 'file:///nowhere/dump' }", tensor_name=text("c:0"),
        ),
    )  # fmt: skip


@case("bad")
def array_file_as_records(tf: Any, sess: Any) -> Any:
    content = io.BytesIO()
    np.save(content, np.zeros(9))
    return _read_records(tf, sess, content.getvalue())
