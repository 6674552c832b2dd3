"""Rows of op samples: their meaning and how they are written.

One row says which op gets which inputs. Everything else follows from it: TensorFlow's answers
(scripts/oracle/ops_samples.py stores them in tests/golden/ops_<family>.bin) and the comparison of
values, errors, static shapes and gradients (test_samples.py).

Rows are in samples_<family>.py in a list named SAMPLES. This file and those import NumPy and
ml_dtypes only, because TensorFlow's Python reads them too.
"""

from __future__ import annotations

import importlib.util
import zlib
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from tests.exact_numbers import RandomNumbers

HERE = Path(__file__).resolve().parent
GOLDEN = HERE.parent / "golden"

# TensorFlow's type names -> the NumPy type that carries the values.
NUMPY_TYPES: dict[str, Any] = {
    "half": np.float16, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16,
    "float": np.float32, "float32": np.float32, "double": np.float64, "float64": np.float64,
    "int8": np.int8, "int16": np.int16, "int32": np.int32, "int64": np.int64,
    "uint8": np.uint8, "uint16": np.uint16, "uint32": np.uint32, "uint64": np.uint64,
    "bool": np.bool_, "complex64": np.complex64, "complex128": np.complex128,
    "qint8": np.int8, "quint8": np.uint8, "qint16": np.int16, "quint16": np.uint16,
    "qint32": np.int32, "string": np.object_,
}  # fmt: skip

FLOATS = "half bfloat16 float double"
COMPLEX = "complex64 complex128"
SIGNED = "int8 int16 int32 int64"
UNSIGNED = "uint8 uint16 uint32 uint64"
INTEGERS = f"{SIGNED} {UNSIGNED}"
REAL = f"{FLOATS} {INTEGERS}"
NUMBERS = f"{REAL} {COMPLEX}"


@dataclass(frozen=True)
class Resource:
    """A handle of a resource variable; a `value` of None means that it is not initialized."""

    value: Any
    dtype: str = "float32"


@dataclass(frozen=True)
class Uninitialized:
    """A reference input whose variable is not initialized."""

    dtype: str = "float32"
    shape: tuple[int, ...] = ()


@dataclass(frozen=True)
class Sample:
    """One op applied once.

    Attributes:
      op: the op's name.
      inputs: one entry per input argument, in the OpDef's order; a list argument gets a list.
        Anything np.asarray takes; Python floats become float32, ints int32, str bytes. Ref
        arguments become a variable of that value. Resource arguments: a Resource.
      attrs: attrs by name as Python values; type attrs by TensorFlow's name ("int64", "qint8").
      error: the op must fail, and this regular expression is found in our message.
      exact: floats must be equal bit by bit instead of within a few units in the last place.
      rtol: relative tolerance for floats instead of the usual one of the dtype.
      atol: absolute tolerance beside it.
      values: False when only shapes and types are compared (random ops).
      shapes: False leaves the static shapes unchecked.
      gradient: False leaves the gradient unchecked.
      undefined: outputs whose values TensorFlow leaves undefined.
      types: set by `sweep`; recorded in the sample's name.
    """

    op: str
    inputs: tuple[Any, ...] = ()
    attrs: dict[str, Any] = field(default_factory=dict)
    error: str | None = None
    exact: bool = False
    rtol: float | None = None
    atol: float | None = None
    values: bool = True
    shapes: bool = True
    gradient: bool = True
    undefined: tuple[int, ...] = ()
    types: str = ""

    def key(self) -> str:
        """Return a name that stays the same as long as the row has the same content."""
        crc = zlib.crc32(repr(sorted(self.attrs.items())).encode())
        for entry in self.inputs:
            crc = _crc(entry, crc)
        return f"{self.op}{'-' + self.types if self.types else ''}-{crc:08x}"


def _crc(entry: Any, crc: int) -> int:
    if isinstance(entry, list):
        for item in entry:
            crc = _crc(item, crc)
        return zlib.crc32(b"]", crc)
    if isinstance(entry, Resource) and entry.value is not None:
        return _crc(entry.value, zlib.crc32(b"resource", crc))
    if isinstance(entry, (Resource, Uninitialized)):
        return zlib.crc32(repr(entry).encode(), crc)
    head = f"{entry.dtype}{entry.shape}".encode()
    body = repr(entry.tolist()).encode() if entry.dtype == object else entry.tobytes()
    return zlib.crc32(body, zlib.crc32(head, crc))


def array(value: Any) -> Any:
    """The value as an ndarray with TensorFlow's defaults: float32, int32, bytes."""
    if isinstance(value, (Resource, Uninitialized)):
        if isinstance(value, Resource) and value.value is not None:
            return replace(value, value=array(value.value))
        return value
    if isinstance(value, (np.ndarray, np.generic)) and np.asarray(value).dtype.kind not in "US":
        return np.asarray(value)
    result = np.asarray(value)
    if result.dtype.kind == "f":
        return result.astype(np.float32)
    if result.dtype.kind == "i":
        return result.astype(np.int32)
    if result.dtype.kind == "c":
        return result.astype(np.complex64)
    if result.dtype.kind in "USO":
        encoded = np.empty(result.shape, object)
        encoded[...] = np.vectorize(_as_bytes, otypes=[object])(result) if result.size else result
        return encoded
    return result


def _as_bytes(value: Any) -> bytes:
    return value.encode() if isinstance(value, str) else bytes(value)


def op(name: str, *inputs: Any, error: str | None = None, **attrs: Any) -> Sample:
    """A row: op name, inputs, attrs as keywords.

    The checking options (`exact`, `rtol`, ...) are given through `checked`, since any keyword here
    may be the name of an attr.
    """
    arrays = tuple(
        [array(item) for item in entry]
        if isinstance(entry, list) and _is_list(entry)
        else array(entry)
        for entry in inputs
    )
    return Sample(name, arrays, attrs, error)


class Many(list[Any]):
    """Mark a list input (`N * T`, `list(type)`): Many([a, b])."""


def _is_list(entry: Any) -> bool:
    return isinstance(entry, Many)


def checked(sample: Sample | list[Sample], **options: Any) -> list[Sample]:
    """Return the rows with other checking options, for example exact=True."""
    rows = sample if isinstance(sample, list) else [sample]
    return [replace(row, **options) for row in rows]


def sweep(
    types: str, name: str, *inputs: Any, fixed: tuple[int, ...] = (), **attrs: Any
) -> list[Sample]:
    """The row once per dtype: every input whose position is not in `fixed` is cast to it."""
    rows = []
    for word in types.split():
        target = NUMPY_TYPES[word]
        cast: list[Any] = []
        for index, entry in enumerate(inputs):
            if index in fixed or isinstance(entry, Uninitialized):
                cast.append(entry)
            elif isinstance(entry, Many):
                cast.append(Many([_cast(item, target) for item in entry]))
            elif isinstance(entry, Resource):
                cast.append(Resource(_cast(entry.value, target), word))
            else:
                cast.append(_cast(entry, target))
        rows.append(replace(op(name, *cast, **attrs), types=word))
    return rows


def _cast(value: Any, target: Any) -> Any:
    with np.errstate(all="ignore"):
        wide = np.asarray(value)
        if target is np.object_:
            return array(wide if wide.dtype == object else wide.astype(str))
        if np.dtype(target).kind in "iu" and wide.dtype.kind == "f":
            wide = np.nan_to_num(wide, posinf=100, neginf=-100).astype(np.int64)
        return wide.astype(target)


@cache
def _normal(seed: int, shape: tuple[int, ...]) -> Any:
    return RandomNumbers(seed).normal(size=shape).astype(np.float32)


def normal(*shape: int, seed: int = 0) -> Any:
    """Return normally distributed float32 numbers, equal on every machine."""
    return _normal(seed + sum(shape), shape).copy()


def uniform(*shape: int, low: float = 0.0, high: float = 1.0, seed: int = 0) -> Any:
    """Return uniformly distributed float32 numbers, equal on every machine."""
    state = RandomNumbers(seed + sum(shape))
    return state.uniform(low, high, size=shape).astype(np.float32)


def integers(*shape: int, low: int = -9, high: int = 10, seed: int = 0) -> Any:
    """Return int32 numbers, equal on every machine."""
    state = RandomNumbers(seed + sum(shape))
    return state.randint(low, high, size=shape).astype(np.int32)


def families() -> list[str]:
    """The families that have rows: the files samples_<family>.py in the folders beside this one."""
    return sorted(_files())


@cache
def _files() -> dict[str, Path]:
    return {path.stem.removeprefix("samples_"): path for path in HERE.glob("*/samples_*.py")}


@cache
def family(name: str) -> list[Sample]:
    """The rows of one family; the same list each time."""
    path = _files()[name]
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    rows: list[Sample] = []
    for row in module.SAMPLES:
        rows.extend(row if isinstance(row, list) else [row])
    keys = [row.key() for row in rows]
    twice = {key for key in keys if keys.count(key) > 1}
    if twice:
        raise ValueError(f"rows given twice in {path.name}: {sorted(twice)}")
    return rows
