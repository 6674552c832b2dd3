"""Random calls of ops on Unicode, n-grams, summaries, and of ops that parse messages."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.ops.samples import NUMPY_TYPES, Many, Sample, op
from tests.random_calls.draws import Draw, calls

_TEXTS = (
    b"", b"abc", "\u00e4\u00f6".encode(), "\u4e16\u754c!".encode(), "\U0001f600x".encode(),
    b"\xff", b"a\xc3", b"\xed\xa0\x80z", b"\x00b", b"tab\tend\x7f", "e\u0301".encode(),
)  # fmt: skip


def _words(d: Draw, shape: tuple[int, ...], options: Any = _TEXTS) -> Any:
    found = np.empty(shape, object)
    for place in np.ndindex(*shape):
        found[place] = d.one(options) if d.chance(0.5) else d.one(options) + d.one(options)
    return found


def _errors(d: Draw) -> dict[str, Any]:
    return {
        "errors": d.one("replace ignore strict replace ignore"),
        "replacement_char": d.one([65533, 63, 0x1F600]),
        "replace_control_characters": d.chance(0.3),
    }


@calls("UnicodeDecode UnicodeDecodeWithOffsets")
def _decode(d: Draw, name: str) -> Sample:
    shape = d.shape(0, 2, 3)
    return op(
        name, _words(d, shape), input_encoding=d.one("UTF-8 UTF-8 US-ASCII ISO-8859-1 UTF-16-BE"),
        # TensorFlow crashes for offsets with the other type.
        Tsplits="int64" if name.endswith("Offsets") else d.one("int32 int64"), **_errors(d),
    )  # fmt: skip


@calls("UnicodeTranscode")
def _transcode(d: Draw, name: str) -> Sample:
    return op(
        name, _words(d, d.shape(0, 2, 3)), input_encoding=d.one("UTF-8 US-ASCII UTF-16-BE"),
        output_encoding=d.one("UTF-8 UTF-16-BE UTF-32-BE"), **_errors(d),
    )  # fmt: skip


@calls("UnicodeEncode")
def _encode(d: Draw, name: str) -> Sample:
    usual = [97, 0xE4, 0x1F600]
    points = [
        d.one([65, 0x4E16, 0, 0xD800, -1, 0x110000] if d.chance(0.2) else usual)
        for _ in range(d.number(0, 6))
    ]
    inner = sorted(d.number(0, len(points)) for _ in range(d.number(0, 3)))
    splits = np.array([0, *inner, len(points)], NUMPY_TYPES[d.one("int32 int64")])
    attrs = {k: v for k, v in _errors(d).items() if k != "replace_control_characters"}
    encoding = d.one("UTF-8 UTF-16-BE UTF-32-BE")
    return op(name, np.array(points, np.int32), splits, output_encoding=encoding, **attrs)


@calls("UnicodeScript")
def _script(d: Draw, name: str) -> Sample:
    x = d.random.randint(-2, 0x11000 if d.chance(0.7) else 0x110001, d.shape(0, 2, 5))
    return op(name, x.astype(np.int32))


@calls("StringNGrams")
def _ngrams(d: Draw, name: str) -> Sample:
    data = _words(d, (d.number(0, 6),), (b"a", b"bc", b""))
    inner = sorted(d.number(0, len(data)) for _ in range(d.number(0, 3)))
    splits = np.array([0, *inner, len(data)], NUMPY_TYPES[d.one("int32 int64")])
    return op(
        name, data, splits, separator=d.one(["|", "", " - "]),
        ngram_widths=[d.number(1, 4) for _ in range(d.number(1, 2))], left_pad=d.one(["", "L"]),
        right_pad=d.one(["", "R"]), pad_width=d.number(-1, 2),
        preserve_short_sequences=d.chance(0.4),
    )  # fmt: skip


@calls("StringFormat")
def _format(d: Draw, name: str) -> Sample:
    arrays = [
        d.values(d.one("int32 float32 bool string float64 int64"), d.shape(0, 3, 5), 0.2)
        for _ in range(d.number(0, 2))
    ]
    template = "".join(d.one(["x ", "%s", "%"]) for _ in range(2)) + " %s" * len(arrays)
    template = template if d.chance(0.3) else " %s" * len(arrays) + "!"
    return op(name, Many(arrays), template=template, summarize=d.one([-1, 1, 2, 3, 0]))


@calls("Fingerprint")
def _fingerprint(d: Draw, name: str) -> Sample:
    word = d.one("string int32 float32 bool int64 complex64")
    # For rows without elements TensorFlow returns uninitialized memory.
    shape = tuple(max(size, 1) for size in d.shape(0 if d.chance(0.1) else 1, 3, 4))
    x = d.values(word, shape, 0)
    method = np.array(b"farmhash64" if d.chance(0.95) else b"md5", object)
    return op(name, x, method)


@calls("UnsortedSegmentJoin")
def _join(d: Draw, name: str) -> Sample:
    shape = d.shape(1, 3, 3)
    depth = d.number(1, len(shape))
    number = d.number(1, 4)
    ids = d.random.randint(-1 if d.chance(0.1) else 0, number, shape[:depth])
    ids = ids.astype(NUMPY_TYPES[d.one("int32 int64")])
    return op(
        name, d.values("string", shape), ids, np.array(number, np.int32), separator=d.one(["", ","])
    )


@calls("EditDistance")
def _distance(d: Draw, name: str) -> Sample:
    word, head = d.one("int32 string int64 float32"), d.number(1, 3)

    def side() -> list[Any]:
        rows = [d.number(0, 4) for _ in range(head)]
        places = [[r, c] for r, count in enumerate(rows) for c in range(count)]
        values = d.values(word, (len(places),), 0, 1.0)
        if word == "float32":
            values = np.round(values)
        return [np.array(places, np.int64).reshape(-1, 2), values, np.array([head, 4], np.int64)]

    return op(name, *side(), *side(), normalize=d.chance(0.5))


@calls("ScalarSummary HistogramSummary TensorSummary TensorSummaryV2")
def _summary(d: Draw, name: str) -> Sample:
    if name == "ScalarSummary":
        shape = d.shape(0, 2, 3)
        tags = _words(d, shape if d.chance(0.9) else (), (b"a", b"b/c"))
        word = d.types(name)
        return op(name, tags, d.values(word, shape, 0))
    tag = np.array(b"t", object)
    if name == "HistogramSummary":
        word = d.types(name, without="float16 bfloat16")
        return op(name, tag, d.values(word, d.shape(0, 2, 5), 0.1))
    x = d.values(d.one("float32 int32 string bool float64"), d.shape(0, 2, 4), 0)
    if name == "TensorSummary":
        return op(name, x, description="d", display_name="n")
    return op(name, tag, x, np.array(b"", object))


@calls("SerializeTensor")
def _serialize(d: Draw, name: str) -> Sample:
    return op(name, d.values(d.types("Identity"), d.shape(0, 3, 4)))


@calls("DecodePaddedRaw")
def _padded(d: Draw, name: str) -> Sample:
    words = "float16 float32 float64 int8 int16 int32 int64 uint8 uint16 bfloat16"
    word = d.one(words)
    size = np.dtype(NUMPY_TYPES[word]).itemsize
    length = size * d.number(1, 3) + (1 if d.chance(0.1) else 0)
    shape = d.shape(0, 2, 3)
    texts = np.empty(shape, object)
    for place in np.ndindex(*shape):
        texts[place] = bytes(d.random.randint(0, 60, d.number(0, 12)).astype(np.uint8))
    return op(name, texts, np.array(length, np.int32), out_type=word, little_endian=d.chance(0.7))


def _message(number: int, data: bytes) -> bytes:
    size, head = len(data), bytes([number << 3 | 2])
    while size > 127:
        head += bytes([size & 127 | 128])
        size >>= 7
    return head + bytes([size]) + data


def _feature(d: Draw, kind: str, count: int) -> bytes:
    if kind == "string":
        values = b"".join(_message(1, d.one([b"", b"ab", b"c"])) for _ in range(count))
        return _message(1, values)
    if kind == "int64":
        numbers = bytes(d.number(0, 127) for _ in range(count))
        return _message(3, _message(1, numbers) if count else b"")
    floats = d.random.randint(-4, 5, count).astype(np.float32) / 4
    return _message(2, _message(1, floats.tobytes()) if count else b"")


_KINDS = {"f": "float32", "i": "int64", "s": "string"}


def _example(d: Draw, dense: dict[str, int]) -> bytes:
    entries = b""
    for key, word in _KINDS.items():
        for name in (key, f"d{key}"):
            if d.chance(0.15):
                continue  # missing
            kind = word if d.chance(0.97) else "int64"
            count = dense.get(name, d.number(0, 3)) + (1 if d.chance(0.03) else 0)
            value = _feature(d, kind.replace("float32", "float"), count)
            entries += _message(1, _message(1, name.encode()) + _message(2, value))
    return _message(1, entries)


def _strings(*texts: str | bytes) -> Any:
    found = np.empty(len(texts), object)
    found[:] = [t.encode() if isinstance(t, str) else t for t in texts]
    return found


@calls("ParseExample ParseExampleV2 ParseSingleExample")
def _parse(d: Draw, name: str) -> Sample:
    sparse = [k for k in _KINDS if d.chance(0.6)]
    chosen = [f"d{k}" for k in _KINDS if d.chance(0.6)]
    shapes = {key: [d.number(1, 2)] if d.chance(0.7) else [] for key in chosen}
    sizes = {key: int(np.prod(shape)) for key, shape in shapes.items()}
    count = 1 if name == "ParseSingleExample" else d.number(0, 3)
    texts = _strings(*(_example(d, sizes) for _ in range(count)))
    defaults = []
    for key in chosen:
        word = _KINDS[key[1]]
        has_one = d.chance(0.7)
        defaults.append(d.values(word, tuple(shapes[key]) if has_one else (0,), 0))
    attrs: dict[str, Any] = {
        "sparse_types": [_KINDS[k] for k in sparse], "Tdense": [_KINDS[k[1]] for k in chosen],
        "dense_shapes": [shapes[k] for k in chosen],
    }  # fmt: skip
    if name == "ParseSingleExample":
        more = {"num_sparse": len(sparse), "sparse_keys": sparse, "dense_keys": chosen}
        return op(name, np.array(texts[0], object), Many(defaults), **attrs, **more)
    if name == "ParseExample":
        keys = [Many([np.array(k.encode(), object) for k in part]) for part in (sparse, chosen)]
        return op(name, texts, _strings(), *keys, Many(defaults), **attrs)
    ragged = [k for k in _KINDS if k not in sparse and d.chance(0.6)]
    attrs["num_sparse"] = len(sparse)
    attrs["ragged_value_types"] = [_KINDS[k] for k in ragged]
    attrs["ragged_split_types"] = [d.one("int32 int64") for _ in ragged]
    scalar = d.chance(0.15) and count > 0
    given = np.array(texts[0], object) if scalar else texts
    keys = [_strings(*part) for part in (sparse, chosen, ragged)]
    return op(name, given, _strings(), *keys, Many(defaults), **attrs)
