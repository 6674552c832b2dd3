"""Rows of the ops that read bytes: raw numbers, CSV lines, serialized tensors, examples."""

from __future__ import annotations

import gzip
import zlib

import numpy as np

from tests.ops.samples import Many, checked, op

_COUNTING = bytes([0, 1, 2, 3, 4, 5, 6, 7] * 2)
_RAW_TYPES = (
    "half", "float", "double", "int32", "uint16", "uint8", "int16", "int8", "int64", "complex64",
    "complex128", "bfloat16",
)  # fmt: skip


def _bytes(*values: bytes) -> object:
    array = np.empty(len(values), object)
    array[:] = values
    return array


def _field(number: int, data: bytes) -> bytes:
    return bytes([number << 3 | 2, len(data)]) + data


def _feature(values: object) -> bytes:
    """A Feature message of strings, floats or small integers; empty for None."""
    if values is None:
        return b""
    items = list(values)  # type: ignore[call-overload]
    if items and isinstance(items[0], str):
        return _field(1, b"".join(_field(1, item.encode()) for item in items))
    if items and isinstance(items[0], int):
        return _field(3, _field(1, bytes(items)))
    return _field(2, _field(1, np.float32(items).tobytes()) if items else b"")


def _features(features: dict[str, object]) -> bytes:
    entries = (
        _field(1, _field(1, key.encode()) + _field(2, _feature(values)))
        for key, values in features.items()
    )
    return b"".join(entries)


def example(**features: object) -> bytes:
    """A serialized Example."""
    return _field(1, _features(features))


def sequence(context: dict[str, object], lists: dict[str, list[object]]) -> bytes:
    """A serialized SequenceExample."""
    entries = (
        _field(
            1,
            _field(1, key.encode())
            + _field(2, b"".join(_field(1, _feature(values)) for values in steps)),
        )
        for key, steps in lists.items()
    )
    return _field(1, _features(context)) + _field(2, b"".join(entries))


_A = example(x=[1.0, 2.0], y=[3], z=["a", "b"], w=[1, 2, 3, 4])
_B = example(x=[5.0, 6.0], y=[7])
_REQUIRED = np.float32([])
_I0, _F0, _S0 = np.int32([0]), np.float32([1.5]), ["d"]


def _parse(
    *examples: bytes,
    sparse: dict[str, str] | None = None,
    names: object = None,
    dense: dict[str, tuple[str, object, object]] | None = None,
    **options: object,
) -> object:
    """A row of ParseExample: sparse maps keys to types, dense to type, shape and default."""
    sparse, dense = sparse or {}, dense or {}
    defaults = [
        np.asarray(default, {"float": np.float32, "int64": np.int64, "string": object}[kind])
        for kind, _, default in dense.values()
    ]
    return op(
        "ParseExample", _bytes(*examples), _bytes() if names is None else names, Many(list(sparse)),
        Many(list(dense)), Many(defaults), sparse_types=list(sparse.values()),
        Tdense=[kind for kind, _, _ in dense.values()],
        dense_shapes=[shape for _, shape, _ in dense.values()], **options,
    )  # fmt: skip


def _csv(records: object, *defaults: object, **options: object) -> object:
    return op("DecodeCSV", records, Many(list(defaults)), **options)


_SA = sequence(
    {"c": [1.5], "s": ["q"]},
    {"x": [[1.0, 2.0], [3.0, 4.0]], "t": [["a"], ["b", "c"], None], "n": [[1], [2], [3]]},
)
_SB = sequence({"c": [2.5]}, {"x": [[5.0, 6.0]], "t": [], "n": [[7]]})


def _sequences(serialized: object, error: str | None = None, **changed: object) -> object:
    """A row of ParseSequenceExample over context c and s, feature lists x and t."""
    attrs: dict[str, object] = {
        "feature_list_dense_missing_assumed_empty": [],
        "context_sparse_keys": ["s"],
        "context_dense_keys": ["c"],
        "feature_list_sparse_keys": ["t"],
        "feature_list_dense_keys": ["x"],
        "Ncontext_sparse": 1,
        "Ncontext_dense": 1,
        "Nfeature_list_sparse": 1,
        "Nfeature_list_dense": 1,
        "context_sparse_types": ["string"],
        "Tcontext_dense": ["float"],
        "feature_list_dense_types": ["float"],
        "context_dense_shapes": [[]],
        "feature_list_sparse_types": ["string"],
        "feature_list_dense_shapes": [[2]],
    }
    attrs.update(changed)
    names = attrs.pop("debug_name", _bytes())
    default = attrs.pop("default", _REQUIRED)
    return op("ParseSequenceExample", serialized, names, Many([default]), error=error, **attrs)


def _ragged_sequences(serialized: object, error: str | None = None) -> object:
    """A row of ParseSequenceExampleV2 with ragged columns too."""
    return op(
        "ParseSequenceExampleV2",
        serialized,
        _bytes(),
        ["s"],
        ["c"],
        _bytes(),
        _bytes(),
        ["x", "q"],
        ["t", "n"],
        [False, True],
        Many([_REQUIRED]),
        Ncontext_sparse=1,
        Tcontext_dense=["float"],
        context_sparse_types=["string"],
        context_ragged_value_types=[],
        context_ragged_split_types=[],
        context_dense_shapes=[[]],
        Nfeature_list_sparse=0,
        Nfeature_list_dense=2,
        feature_list_dense_types=["float", "int64"],
        feature_list_sparse_types=[],
        feature_list_ragged_value_types=["string", "int64"],
        feature_list_ragged_split_types=["int32", "int64"],
        feature_list_dense_shapes=[[2], []],
        error=error,
    )


def _single_sequence(data: bytes, error: str | None = None, **changed: object) -> object:
    """A row of ParseSingleSequenceExample."""
    keys: dict[str, object] = {"context_dense": "c", "list_dense": "x", "missing": _bytes()}
    attrs: dict[str, object] = {
        "context_sparse_types": ["string"],
        "Tcontext_dense": ["float"],
        "feature_list_dense_types": ["float"],
        "context_dense_shapes": [[]],
        "feature_list_sparse_types": ["string"],
        "feature_list_dense_shapes": [[2]],
    }
    for name, value in changed.items():
        (keys if name in keys else attrs)[name] = value
    return op(
        "ParseSingleSequenceExample",
        np.array(data, object),
        keys["missing"],
        Many(["s"]),
        Many([keys["context_dense"]]),
        Many(["t"]),
        Many([keys["list_dense"]]),
        Many([_REQUIRED]),
        "debug",
        error=error,
        **attrs,
    )


SAMPLES = [
    *[
        op("DecodeRaw", _bytes(_COUNTING), out_type=t, little_endian=e)
        for t in _RAW_TYPES
        for e in (True, False)
    ],
    op("DecodeRaw", _bytes(b"\x01\x00"), out_type="bool"),
    op("DecodeRaw", "abcd", out_type="int32"),
    op("DecodeRaw", _bytes(b"", b""), out_type="int32"),
    op("DecodeRaw", _bytes(), out_type="int32"),
    op(
        "DecodeRaw", ["ab", "abc"], out_type="uint8", error="to all be the same size, but element 1"
    ),
    op("DecodeRaw", ["abc"], out_type="int32", error="not a multiple of 4, the size of int32"),
    op("DecodePaddedRaw", ["abcdef", "ab", ""], 4, out_type="uint8"),
    op("DecodePaddedRaw", ["abcdef", "ab"], 4, out_type="uint16", little_endian=False),
    op("DecodePaddedRaw", [[b"a\0b", b"\0"]], 3, out_type="int8", little_endian=False),
    op("DecodePaddedRaw", [b"a\0b"], 1 << 17, out_type="float", little_endian=False),
    op("DecodePaddedRaw", ["abcdef"], 0, out_type="uint16", error="must be greater than zero"),
    checked(
        op(
            "DecodeCompressed",
            _bytes(zlib.compress(b"hello"), zlib.compress(b"")),
            compression_type="ZLIB",
        )
    ),
    op("DecodeCompressed", _bytes(gzip.compress(b"hello", mtime=0)), compression_type="GZIP"),
    op("DecodeCompressed", ["x"]),
    op("DecodeCompressed", ["xyz"], compression_type="ZLIB", error=r"inflate\(\) failed"),
    op("DecodeCompressed", ["xyz"], compression_type="LZ", error="are supported compressions"),
    _csv(["1,2.5,abc", "3,,"], _I0, _F0, _S0),
    _csv("1,2.5,abc", np.int32(0), _F0, _S0),
    _csv([["1"], ["2"]], _I0),
    _csv(['"a,b","c""d"', '"",x'], _S0, _S0),
    _csv(['"a","b'], _S0, _S0, use_quote_delim=False),
    _csv(["NA,NA,NA"], _I0, _F0, _S0, na_value="NA"),
    _csv(["1\t2"], _I0, _I0, field_delim="\t"),
    _csv(["1,2,3", "4,5,6"], _I0, _I0, select_cols=[0, 2]),
    _csv([" 1 ,2 "], _I0, _S0),
    _csv(["1,"], _I0, _S0),
    _csv(["0x10,inf"], _F0, np.float64([0])),
    _csv(["\n1,2"], _I0, np.int64([0])),
    _csv(["1,2"], _I0, _F0, _S0, error="Expect 3 fields but have 2 in record 0"),
    _csv(["1", ""], _I0, error="Expect 1 fields but have 0 in record 1"),
    _csv(["1,"], _I0, np.int32([]), error="Field 1 is required but missing in record 0!"),
    _csv(["1", "x"], _I0, error="Field 0 in record 1 is not a valid int32: x"),
    _csv(["3000000000"], _I0, error="is not a valid int32"),
    _csv(["x"], np.float64([0]), error="is not a valid double"),
    _csv(['a"b'], _S0, error="Unquoted fields cannot have quotes/CRLFs inside"),
    _csv(["a\n"], _S0, error="Unquoted fields cannot have quotes/CRLFs inside"),
    _csv(['"a"b'], _S0, error="Quote inside a string has to be escaped"),
    _csv(['"a'], _S0, error="Quoted field has to end with quote"),
    _csv(["1;;2"], _I0, _I0, field_delim=";;", error="field_delim should be only 1 char"),
    _csv(["1"], np.int32([1, 2]), error="length-0 or length-1 vector|only be 1 default"),
    *[
        op("SerializeTensor", value)
        for value in (
            np.float32([1, 2]),
            np.int64(3),
            ["a", "b"],
            [True, False],
            np.float16([1]),
            np.complex64([1 + 2j]),
            np.zeros((0, 2), np.float32),
        )
    ],
    op(
        "ParseTensor",
        b'\x08\x01\x12\x04\x12\x02\x08\x02"\x08\x00\x00\x80?\x00\x00\x00@',
        out_type="float",
    ),
    op("ParseTensor", b"\x08\x07\x12\x04\x12\x02\x08\x02B\x01aB\x01b", out_type="string"),
    op(
        "ParseTensor",
        b'\x08\x01\x12\x00"\x04abcd',
        out_type="int32",
        error="Type mismatch between parsed tensor",
    ),
    op("ParseTensor", "zzz", out_type="int32", error="Could not parse `serialized` as TensorProto"),
    op("ParseTensor", ["zzz"], out_type="int32", error="to be a scalar|rank 0"),
    checked(
        op("DecodeJSONExample", ['{"features":{"feature":{"a":{"int64List":{"value":[1,"2"]}}}}}']),
        values=False,
    ),
    op("DecodeJSONExample", ['{"x":'], error="Error while parsing JSON"),
    _parse(_A, _B, sparse={"z": "string"}, dense={"x": ("float", [2], []), "y": ("int64", [], [])}),
    _parse(_A, _B, dense={"q": ("int64", [2], [8, 9]), "r": ("string", [], b"d")}),
    _parse(_A, _B, dense={"x": ("float", [2], [])}, names=["one", "two"]),
    _parse(sparse={"z": "string"}, dense={"x": ("float", [2], [])}),
    _parse(_A, _B, dense={"w": ("int64", [None, 2], 9), "z": ("string", [None], b"pad")}),
    _parse(_A, _B, sparse={"w": "int64", "q": "float"}),
    _parse(example(x=None), sparse={"x": "float"}),
    _parse(example(x=None), dense={"x": ("float", [2], [0, 0])}),
    _parse(
        _A, dense={"q": ("int64", [], [])}, error=r"Feature: q \(data type: int64\) is required"
    ),
    _parse(
        _A, _B, dense={"q": ("int64", [], [])}, names=["one", "two"], error="Name: one, Feature: q"
    ),
    _parse(_A, dense={"x": ("float", [3], [])}, error="Number of float values != expected"),
    _parse(
        example(x=[]),
        dense={"x": ("float", [2], [0, 0])},
        error="Number of float values != expected",
    ),
    _parse(_A, dense={"x": ("int64", [2], [])}, error="Data types don't match"),
    _parse(_A, sparse={"x": "int64"}, error="Data types don't match. Expected type: int64"),
    _parse(
        example(w=[1, 2, 3]),
        dense={"w": ("int64", [None, 2], 0)},
        error="not a multiple of stride length",
    ),
    _parse(_A, b"garbage!", dense={"x": ("float", [2], [])}, error="Could not parse example input"),
    _parse(
        _A,
        _B,
        dense={"x": ("float", [2], [])},
        names=["n"],
        error="have the same shape as serialized",
    ),
    _parse(_A, dense={"x": ("float", [2], [1])}, error="is not compatible with dense_shapes_"),
    _parse(_A, dense={"x": ("float", [None], [])}, error="must contain a single element"),
    *[
        op(
            "ParseExampleV2",
            serialized,
            _bytes(),
            ["z"],
            ["x"],
            ["y", "w"],
            Many([_REQUIRED]),
            num_sparse=1,
            Tdense=["float"],
            sparse_types=["string"],
            ragged_value_types=["int64", "int64"],
            ragged_split_types=["int32", "int64"],
            dense_shapes=[[2]],
        )
        for serialized in (_bytes(_A, _B), np.array(_A, object), _bytes())
    ],
    op(
        "ParseExampleV2",
        [["a"]],
        _bytes(),
        _bytes(),
        ["x"],
        _bytes(),
        Many([_REQUIRED]),
        num_sparse=0,
        Tdense=["float"],
        sparse_types=[],
        ragged_value_types=[],
        ragged_split_types=[],
        dense_shapes=[[2]],
        error="scalar or vector|rank 1",
    ),
    op(
        "ParseSingleExample",
        np.array(_A, object),
        Many([_REQUIRED, np.int64(9)]),
        num_sparse=1,
        sparse_keys=["z"],
        dense_keys=["x", "w"],
        sparse_types=["string"],
        Tdense=["float", "int64"],
        dense_shapes=[[2], [None, 2]],
    ),
    *[
        op(
            "ParseSingleExample",
            np.array(data, object),
            Many([_REQUIRED]),
            num_sparse=0,
            sparse_keys=[],
            dense_keys=[key],
            sparse_types=[],
            Tdense=["float"],
            dense_shapes=[shape],
            error=error,
        )
        for data, key, shape, error in (
            (_A, "q", [2], r"Feature: q \(data type: float\) is required"),
            (_A, "x", [3], "Key: x."),
            (_A, "y", [1], "Key: y.  Data types don't match"),
            (b"garbage!", "x", [2], "Could not parse example input"),
        )
    ],
    _sequences(_bytes(_SA, _SB)),
    _sequences(np.array(_SA, object), error="rank 1"),
    _sequences(_bytes(), error="Inconsistent max number of elements for feature c"),
    _sequences(_bytes(), default=np.float32(1.0)),
    _sequences(
        _bytes(_SA, _SB),
        feature_list_dense_keys=["q"],
        feature_list_dense_missing_assumed_empty=["q"],
    ),
    _sequences(_bytes(_SA), context_dense_keys=["q"], default=np.float32(4.0)),
    _sequences(
        _bytes(_SA, _SB),
        feature_list_dense_keys=["q"],
        debug_name=["one", "two"],
        error="Name: one, Feature list 'q' is required but could not be found",
    ),
    _sequences(_bytes(_SA), context_sparse_types=["int64"], error="Data types don't match"),
    _sequences(_bytes(_SA), feature_list_sparse_types=["int64"], error="Data types don't match"),
    _sequences(_bytes(_SA), feature_list_dense_types=["int64"], error="Data types don't match"),
    _sequences(_bytes(_SA), feature_list_dense_shapes=[[3]], error="unexpected number of values"),
    _sequences(
        _bytes(sequence({"c": [1.0, 2.0]}, {"x": []})),
        error="Inconsistent max number of elements for feature c: expected 1, but found 2",
    ),
    _sequences(_bytes(b"garbage!"), error="Invalid protocol message input"),
    _ragged_sequences(_bytes(_SA, _SB)),
    _ragged_sequences(_bytes(), error="Inconsistent max number of elements for feature c"),
    _single_sequence(_SA),
    _single_sequence(_SA, list_dense="q", missing=["q"]),
    _single_sequence(_SA, list_dense="q", error="Name: debug, Feature list 'q' is required"),
    _single_sequence(_SA, context_dense="q", error="Context feature 'q' is required"),
    _single_sequence(
        _SA, feature_list_dense_shapes=[[3]], error="Number of float values != expected"
    ),
]
