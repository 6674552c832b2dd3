"""Random calls of ops on strings, and of parsing."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.ops.samples import NUMPY_TYPES, Many, Sample, array, op
from tests.random_calls.draws import Draw, calls


def _text(d: Draw, least: int = 0, most: int = 3) -> Any:
    return d.values("string", d.shape(least, most, 4))


@calls("StringLower StringUpper StringStrip StringLength EncodeBase64")
def _one(d: Draw, name: str) -> Sample:
    x = _text(d)
    if name in ("StringLower", "StringUpper"):
        encoding = d.one(["", "utf-8"])
        if encoding:
            x = array(np.where(x == b"\xff", "\u00c4".encode(), x)) if x.size else x
            x = _valid(x)
        return op(name, x, encoding=encoding)
    if name == "StringLength":
        unit = d.one("BYTE UTF8_CHAR")
        return op(name, x, unit=unit)
    if name == "EncodeBase64":
        return op(name, x, pad=d.chance(0.5))
    return op(name, x)


def _valid(x: Any) -> Any:
    found = np.empty(x.shape, object)
    for place in np.ndindex(*x.shape):
        found[place] = x[place].decode("utf-8", "ignore").encode()
    return found


@calls("DecodeBase64")
def _decode64(d: Draw, name: str) -> Sample:
    words = [b"", b"YQ", b"YWI", b"YWJj", b"YQ==", b"_-8", b"Y", b"!", b"YWJjZA", b"YW+/"]
    shape = d.shape(0, 2, 3)
    found = np.empty(shape, object)
    for place in np.ndindex(*shape):
        found[place] = d.one(words) if d.chance(0.9) else d.text()
    return op(name, found)


@calls("StringJoin")
def _join(d: Draw, name: str) -> Sample:
    shape = d.shape(0, 3, 3)
    parts = [d.values("string", () if d.chance(0.3) else shape) for _ in range(d.number(1, 3))]
    return op(name, Many(parts), separator=d.one(["", ", "]))


@calls("ReduceJoin")
def _reduce_join(d: Draw, name: str) -> Sample:
    shape = d.shape(0, 3, 3)
    return op(
        name,
        d.values("string", shape),
        d.axes(len(shape)).astype(np.int32),
        keep_dims=d.chance(0.5),
        separator=d.one(["", "-"]),
    )


@calls("Substr")
def _substr(d: Draw, name: str) -> Sample:
    shape = d.shape(0, 2, 3)
    x = _valid(d.values("string", shape))
    target = d.one([np.int32, np.int64])
    inner = () if d.chance(0.6) else shape
    position = np.asarray(d.random.randint(-3 if d.chance(0.3) else 0, 2, inner), target)
    return op(
        name,
        x,
        position,
        np.asarray(d.random.randint(-1 if d.chance(0.1) else 0, 5, inner), target),
        unit=d.one("BYTE UTF8_CHAR"),
    )


@calls("StringSplit StringSplitV2")
def _split(d: Draw, name: str) -> Sample:
    x = d.values("string", (d.number(0, 4),))
    separator = d.one(["", " ", ",", "l", "ab"])
    if name == "StringSplit":
        return op(name, x, separator, skip_empty=d.chance(0.5))
    return op(name, x, separator, maxsplit=d.number(-1, 2))


@calls("StringToNumber")
def _to_number(d: Draw, name: str) -> Sample:
    words = [
        b"1",
        b"-7",
        b"1.5",
        b"1e3",
        b"inf",
        b"nan",
        b" 12 ",
        b"0x10",
        b"2147483648",
        b"",
        b"abc",
        b"+4",
        b"-0",
        b"1e400",
        b"9223372036854775807",
        b".5",
        b"5.",
    ]
    shape = d.shape(0, 2, 3)
    found = np.empty(shape, object)
    good = words[:4] + words[6:7]
    for place in np.ndindex(*shape):
        found[place] = d.one(good if d.chance(0.7) else words)
    return op(name, found, out_type=d.types(name, "out_type"))


@calls("StringToHashBucket StringToHashBucketFast StringToHashBucketStrong")
def _hash(d: Draw, name: str) -> Sample:
    attrs: Any = {"num_buckets": d.one([1, 10, 1000, 2**40])}
    if name.endswith("Strong"):
        attrs["key"] = [d.number(0, 2**40), d.number(0, 99)]
    return op(name, _text(d), **attrs)


@calls("AsString")
def _as_string(d: Draw, name: str) -> Sample:
    word = d.types(name, without="string")
    attrs: Any = {}
    if d.chance(0.5) and word != "bool":
        attrs["width"] = d.number(-1, 9)
        attrs["fill"] = d.one(["", " ", "0", "+", "-"])
    if "float" in word or "complex" in word or word == "half":
        attrs["precision"] = d.number(-1, 5)
        kind = d.one(["scientific", "shortest", ""])
        if kind:
            attrs[kind] = True
    x = d.values(word, d.shape(0, 2), 0.2)
    return op(name, x, **attrs)


@calls("RegexReplace StaticRegexReplace RegexFullMatch StaticRegexFullMatch")
def _regex(d: Draw, name: str) -> Sample:
    pattern = d.one(["a", "[a-c]+", "(l+)o", "^.", r"\d", "", "(", ".*", "b|W", r"\s+"])
    x = _valid(_text(d))
    if name == "RegexFullMatch":
        return op(name, x, pattern)
    if name == "StaticRegexFullMatch":
        return op(name, x, pattern=pattern)
    rewrite = d.one(["x", "", r"<\0>", r"\1"]) if "(" in pattern else d.one(["x", "", r"<\0>"])
    if name == "RegexReplace":
        return op(name, x, pattern, rewrite, replace_global=d.chance(0.5))
    return op(name, x, pattern=pattern, rewrite=rewrite, replace_global=d.chance(0.5))


@calls("DecodeRaw")
def _decode_raw(d: Draw, name: str) -> Sample:
    word = d.types(name, "out_type", "bool")
    size = np.dtype(NUMPY_TYPES[word]).itemsize * d.number(0, 3) + d.chance(0.05)
    shape = d.shape(0, 2, 3)
    found = np.empty(shape, object)
    for place in np.ndindex(*shape):
        found[place] = d.random.bytes(size)
    return op(name, found, out_type=word, little_endian=d.chance(0.6))


@calls("DecodeCSV")
def _csv(d: Draw, name: str) -> Sample:
    lines = [b"1,2.5,x", b",,", b'3,4,"a,b"', b'3,4,"a""b"', b"1,2", b"x,1,y", b"1,2,", b" 1,2 ,z"]
    found = np.empty((d.number(1, 3),), object)
    for i in range(len(found)):
        found[i] = d.one(lines[:4] if d.chance(0.8) else lines)
    defaults = [np.zeros(d.one([1, 0, 1]), t) for t in (np.int32, np.float32)]
    text = np.empty(1, object)
    text[0] = b"none"
    return op(
        name,
        found,
        Many([*defaults, text]),
        use_quote_delim=d.chance(0.7),
        OUT_TYPE=["int32", "float32", "string"],
    )


@calls("UnicodeScript")
def _script(d: Draw, name: str) -> Sample:
    return op(name, d.random.randint(0, 0x3000, d.shape(0, 2)).astype(np.int32))
