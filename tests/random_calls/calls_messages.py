"""Random calls of ops that parse messages, of checks, and of states of variables."""

from __future__ import annotations

import json
import struct
import zlib
from dataclasses import replace
from typing import Any

import numpy as np

from tests.ops.io.samples_parsing import sequence
from tests.ops.samples import Many, Resource, Sample, Uninitialized, op
from tests.random_calls.draws import Draw, calls

_WORDS = {"f": "float32", "i": "int64", "s": "string"}


def _strings(*values: bytes) -> Any:
    found = np.empty(len(values), object)
    found[:] = values
    return found


def _scalar(value: bytes) -> Any:
    return np.array(value, object)


def _feature(d: Draw, kind: str, count: int, is_signed: bool = False) -> list[Any]:
    if kind == "f":
        return [float(np.float32(v)) for v in d.random.normal(size=count)]
    if kind == "i":
        return [d.number(-9 if is_signed else 0, 99) for _ in range(count)]
    return [d.one(["a", "bc", ""]) for _ in range(count)]


def _sequence(d: Draw) -> bytes:
    """A SequenceExample: context c? and feature lists l?, of fixed or of any length."""
    context: dict[str, object] = {}
    lists: dict[str, list[object]] = {}
    for kind in _WORDS:
        if d.chance(0.9):
            context[f"c{kind}"] = _feature(d, kind, 2 if d.chance(0.95) else 1)
        if d.chance(0.7):
            context[f"v{kind}"] = _feature(d, kind, d.number(1, 3))
        if d.chance(0.9):
            steps = d.number(0, 3)
            lists[f"l{kind}"] = [
                _feature(d, kind, 2 if d.chance(0.97) else 1) for _ in range(steps)
            ]
        if d.chance(0.8):
            lists[f"w{kind}"] = [
                _feature(d, kind, d.number(1, 2)) if d.chance(0.9) else None
                for _ in range(d.number(0, 3))
            ]
    made = sequence(context, lists)
    return made[: d.number(0, len(made))] if d.chance(0.03) else made


def _chosen(d: Draw, letter: str) -> list[str]:
    return [letter + kind for kind in _WORDS if d.chance(0.6)]


def _types(keys: list[str]) -> list[str]:
    return [_WORDS[key[1]] for key in keys]


@calls("ParseSequenceExample ParseSingleSequenceExample ParseSequenceExampleV2")
def _parse_sequence(d: Draw, name: str) -> Sample:
    sparse, dense = _chosen(d, "v"), _chosen(d, "c")
    list_sparse, list_dense = _chosen(d, "w"), _chosen(d, "l")
    empties = [key for key in list_dense if d.chance(0.5)]
    defaults = Many(d.values(word, (2,) if d.chance(0.6) else (0,), 0) for word in _types(dense))
    attrs: dict[str, Any] = {
        "context_sparse_types": _types(sparse), "Tcontext_dense": _types(dense),
        "feature_list_dense_types": _types(list_dense),
        "feature_list_sparse_types": _types(list_sparse),
        "context_dense_shapes": [[2]] * len(dense),
        "feature_list_dense_shapes": [[2]] * len(list_dense),
    }  # fmt: skip

    def encoded(keys: list[str]) -> list[bytes]:
        return [key.encode() for key in keys]

    if name == "ParseSingleSequenceExample":
        keys = [Many([_scalar(k) for k in encoded(part)])
                for part in (sparse, dense, list_sparse, list_dense)]  # fmt: skip
        return op(
            name, _scalar(_sequence(d)), _strings(*encoded(empties)), *keys, defaults,
            _scalar(b"debug"), **attrs,
        )  # fmt: skip
    texts = _strings(*(_sequence(d) for _ in range(d.number(0, 3))))
    attrs |= {
        "Ncontext_sparse": len(sparse), "Nfeature_list_sparse": len(list_sparse),
        "Nfeature_list_dense": len(list_dense),
    }  # fmt: skip
    if name == "ParseSequenceExample":
        return op(
            name, texts, _strings(), defaults, feature_list_dense_missing_assumed_empty=empties,
            context_sparse_keys=sparse, context_dense_keys=dense,
            feature_list_sparse_keys=list_sparse, feature_list_dense_keys=list_dense,
            Ncontext_dense=len(dense), **attrs,
        )  # fmt: skip
    ragged = [key for key in ("vf", "vi", "vs") if key not in sparse and d.chance(0.6)]
    list_ragged = [key for key in ("wf", "wi", "ws") if key not in list_sparse and d.chance(0.6)]
    parts = (sparse, dense, ragged, list_sparse, list_dense, list_ragged)
    attrs |= {
        "context_ragged_value_types": _types(ragged),
        "context_ragged_split_types": [d.one("int32 int64") for _ in ragged],
        "feature_list_ragged_value_types": _types(list_ragged),
        "feature_list_ragged_split_types": [d.one("int32 int64") for _ in list_ragged],
    }
    return op(
        name, texts, _strings(), *(_strings(*encoded(part)) for part in parts),
        np.array([key in empties for key in list_dense], bool), defaults, **attrs,
    )  # fmt: skip


@calls("DecodeCompressed")
def _compressed(d: Draw, name: str) -> Sample:
    kind = d.one(["", "ZLIB", "GZIP"])
    shape = d.shape(0, 2, 3)
    found = np.empty(shape, object)
    for place in np.ndindex(*shape):
        data = d.text() * d.number(0, 9)
        if kind == "ZLIB":
            data = zlib.compress(data)
        if kind == "GZIP":
            packer = zlib.compressobj(wbits=31)
            data = packer.compress(data) + packer.flush()
        found[place] = data[:-3] if d.chance(0.04) else data
    return op(name, found, compression_type=kind)


@calls("DecodeJSONExample")
def _json(d: Draw, name: str) -> Sample:
    lists = {"f": "floatList", "i": "int64List", "s": "bytesList"}

    def one() -> bytes:
        kind = d.one("f i s")
        values = _feature(d, kind, d.number(0, 3), is_signed=True)
        if kind == "i":
            values = [str(v) if d.chance(0.5) else v for v in values]
        if kind == "s":
            values = ["YWI=" for _ in values]
        if kind == "f":
            values = [d.one([0.5, -2, 1e3, "NaN", "Infinity"]) for _ in values]
        name = lists[kind] if d.chance(0.7) else f"{lists[kind][:-4]}_list"
        text = json.dumps({"features": {"feature": {"k": {name: {"value": values}}}}})
        return text.encode()[:-2] if d.chance(0.04) else text.encode()

    shape = d.shape(0, 2, 2)
    found = np.empty(shape, object)
    for place in np.ndindex(*shape):
        found[place] = one()
    return op(name, found)


@calls("ParseTensor")
def _parse_tensor(d: Draw, name: str) -> Sample:
    from tfnb.core.tensor_util import make_tensor_proto

    word = d.one("float32 int32 int64 bool string float64 uint8 float16 complex64")
    data = make_tensor_proto(d.values(word, d.shape(0, 3, 3))).SerializeToString()
    if d.chance(0.08):
        data = data[: d.number(0, len(data))]
    return op(name, _scalar(data), out_type=word if d.chance(0.93) else "int16")


@calls("MergeSummary")
def _merge(d: Draw, name: str) -> Sample:
    def one() -> bytes:
        tag, number = d.one([b"a", b"b", b"c"]), struct.pack("<f", d.random.normal())
        body = b"\x0a" + bytes([len(tag)]) + tag + b"\x15" + number
        return b"?" if d.chance(0.03) else b"\x0a" + bytes([len(body)]) + body

    # Tags must be unique in all summaries.
    parts = [_strings(*(one() for _ in range(d.number(0, 2)))) for _ in range(d.number(1, 2))]
    return op(name, Many(parts))


@calls("Assert")
def _assert(d: Draw, name: str) -> Sample:
    data = Many(d.values(d.one("float32 string int64 bool"), d.shape(0, 2, 3)) for _ in range(2))
    return op(name, np.array(d.chance(0.5)), data, summarize=d.one([3, -1, 1]))


@calls("CheckNumericsV2")
def _check(d: Draw, name: str) -> Sample:
    return op(name, d.values(d.types(name), d.shape()), message="here")


@calls("Print")
def _print(d: Draw, name: str) -> Sample:
    x = d.values(d.one("float32 string int64 bool complex64"), d.shape())
    return op(name, x, Many([d.values("float32", d.shape(0, 2, 3))]), message="m")


@calls("PrintV2")
def _print_text(d: Draw, name: str) -> Sample:
    text = _scalar(d.text()) if d.chance(0.9) else _strings(b"a", b"b")
    return op(name, text, output_stream=d.one(["stderr", "log(info)", "log(warning)"]))


@calls("IsVariableInitialized")
def _is_initialized(d: Draw, name: str) -> Sample:
    # An empty variable has a value from the beginning.
    word, shape = (
        d.one("float32 int32 string"),
        tuple(d.number(1, 3) for _ in range(d.number(0, 2))),
    )
    held = d.values(word, shape)
    return op(name, Uninitialized(word, shape) if d.chance(0.5) else held)


@calls("VarIsInitializedOp")
def _holds(d: Draw, name: str) -> Sample:
    word = d.one("float32 int32")
    held = d.values(word, d.shape(0, 2, 3)) if d.chance(0.6) else None
    return op(name, Resource(held, word))


@calls("ResourceCountUpTo")
def _count(d: Draw, name: str) -> Sample:
    word = d.one("int32 int64")
    value = np.array(d.number(-1, 4), word)
    return replace(op(name, Resource(value, word), limit=d.number(0, 4), T=word), gradient=False)


@calls("StatelessRandomGetKeyCounterAlg")
def _key(d: Draw, name: str) -> Sample:
    return op(name, np.array([d.number(-99, 99), d.number(-(2**30), 2**30)], np.int64))
