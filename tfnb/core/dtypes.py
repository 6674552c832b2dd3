"""Element types of tensors: ``DType`` and its instances.

Every DType is interned: there is one object per enum value, so ``is`` works and ``as_dtype`` of a
DType costs a type check. The enum values, names and aliases are TensorFlow's. A *ref* dtype
(``float32_ref``, value of the base + 100) is the type of a reference variable's output.

Deliberate difference: ``as_numpy_dtype`` of the quantized types is the plain integer type that
tensors of them hold at run time, and ``object`` for resource and variant, where TensorFlow has a
one-field structured dtype and a KeyError.
"""

from __future__ import annotations

import builtins
import sys
from typing import TYPE_CHECKING, Any, NoReturn, Self, TypeAlias, cast

import numpy as np

from tfnb.core.process.shelter import ensure_imported

if TYPE_CHECKING:
    from collections.abc import Sequence

_REF_OFFSET = 100


class DType:
    """The type of a tensor's elements.

    >>> float32
    tf.float32
    >>> str(float32_ref), float32_ref.base_dtype is float32
    ("<dtype: 'float32_ref'>", True)
    >>> DType(1) is float32, float32 == "float32"
    (True, True)

    Attributes:
        name: The type's name, with ``_ref`` at the end for reference types.
        as_datatype_enum: The number of the type in the DataType enum.
        as_numpy_dtype: The NumPy (or ml_dtypes) scalar type.
        numpy_dtype: The same as an instance of ``np.dtype``.
        base_dtype: This type without the reference.
        real_dtype: The type of the real part of a complex type, else the type itself.
        size: Bytes per element, 0 for types without a fixed size.
    """

    __slots__ = (
        "_as_ref",
        "_is_ref_dtype",
        "_type_enum",
        "as_datatype_enum",
        "as_numpy_dtype",
        "base_dtype",
        "is_bool",
        "is_complex",
        "is_floating",
        "is_integer",
        "is_numeric",
        "is_numpy_compatible",
        "is_quantized",
        "is_ref_dtype",
        "is_unsigned",
        "name",
        "numpy_dtype",
        "real_dtype",
        "size",
    )

    name: str
    as_datatype_enum: int
    as_numpy_dtype: type[Any]  # np.generic of any kind, or object
    numpy_dtype: np.dtype[Any]
    base_dtype: DType
    real_dtype: DType
    size: int
    is_bool: builtins.bool
    is_complex: builtins.bool
    is_floating: builtins.bool
    is_integer: builtins.bool
    is_numeric: builtins.bool
    is_numpy_compatible: builtins.bool
    is_quantized: builtins.bool
    is_ref_dtype: builtins.bool
    is_unsigned: builtins.bool
    _as_ref: DType
    _is_ref_dtype: builtins.bool
    _type_enum: int

    def __new__(cls, type_enum: int) -> Self:
        """Return the one DType with this enum value."""
        found = _INTERN_TABLE.get(type_enum)
        if found is None:
            raise TypeError(f"{type_enum} does not correspond to a valid tensorflow::DataType")
        return cast("Self", found)

    def __getattr__(self, name: str) -> Any:
        """Return what a type of ml_dtypes has only since that package was needed."""
        if name in ("as_numpy_dtype", "numpy_dtype") and self._type_enum in _OF_ML_DTYPES:
            _add_ml_dtypes()
            return object.__getattribute__(self, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __setattr__(self, name: str, value: object) -> NoReturn:
        """Refuse: there is one shared object per type."""
        raise AttributeError(f"Cannot set {name!r}: a DType is immutable.")

    def __delattr__(self, name: str) -> NoReturn:
        """Refuse, as ``__setattr__`` does."""
        raise AttributeError(f"Cannot delete {name!r}: a DType is immutable.")

    @property
    def min(self) -> Any:
        """The smallest value of an ordered numeric type."""
        return self._limit("min", "minimum")

    @property
    def max(self) -> Any:
        """The largest value of an ordered numeric type."""
        return self._limit("max", "maximum")

    def _limit(self, which: str, word: str) -> Any:
        if not (self.is_floating or self.is_integer):
            kind = "quantized type" if self.is_quantized else "type"
            what = f"Cannot find {word} value of {self}"
            if not self.is_numpy_compatible:
                raise TypeError(f"{what}.")
            raise TypeError(f"{what} with {kind} {self.base_dtype}.")
        import ml_dtypes

        info = ml_dtypes.finfo if self.is_floating else ml_dtypes.iinfo
        return getattr(info(self.as_numpy_dtype), which)

    @property
    def limits(self) -> tuple[Any, Any]:
        """The (lowest, highest) intensity of an image of this type, negatives clipped to 0."""
        if self.base_dtype is bool:
            return 0, True
        if self.base_dtype in (float32, float64):
            return 0, 1
        if self.is_integer and self.is_numeric:
            return 0, self.max
        raise ValueError(f"{self} does not have defined limits.")

    def is_compatible_with(self, other: object) -> builtins.bool:
        """Return whether a tensor of type ``other`` is accepted where this type is required.

        >>> float32.is_compatible_with(float32_ref), float32_ref.is_compatible_with(float32)
        (True, False)
        """
        other = as_dtype(other)
        return self is other or self is other.base_dtype

    def is_subtype_of(self, other: object) -> builtins.bool:
        """Return whether ``other`` is this type."""
        return isinstance(other, DType) and self is other

    def most_specific_common_supertype(self, types: Sequence[object]) -> DType | None:
        """Return this type if all others are equal to it, else None."""
        return self if all(self is other for other in types) else None

    def experimental_as_proto(self) -> Any:
        """Return the type as a SerializedDType."""
        return self.experimental_type_proto()(datatype=self.as_datatype_enum)

    @classmethod
    def experimental_from_proto(cls, proto: Any) -> DType:
        """Return the type in a SerializedDType."""
        return as_dtype(proto.datatype)

    @classmethod
    def experimental_type_proto(cls) -> Any:
        """Return the class of the message."""
        from tfnb.proto.types_pb2 import SerializedDType

        return SerializedDType

    # ----------------------------------------------------------- TraceType protocol of TensorFlow

    def flatten(self) -> list[Any]:
        """Return no types: a type is not made of tensors."""
        return []

    def to_tensors(self, value: object) -> list[Any]:
        """Return no tensors."""
        return []

    def from_tensors(self, tensors: object) -> None:
        """Return None: there is no value without tensors."""

    def placeholder_value(self, placeholder_context: object) -> None:
        """Return None: no tensor stands for a type."""

    def cast(self, value: object, cast_context: object) -> None:
        """Return None, the only value there is; AssertionError for any other."""
        if value is not None:
            raise AssertionError(f"Can not cast {value!r} to type {self!r}")

    def __eq__(self, other: object) -> builtins.bool:
        """Return whether ``other`` is, or can be read as, this type."""
        if self is other:
            return True
        if other is None or type(other) is DType:
            return False
        try:
            return self is as_dtype(other)
        except TypeError:
            return False

    def __ne__(self, other: object) -> builtins.bool:
        """Return the opposite of ``==``."""
        return not self == other

    def __hash__(self) -> int:
        """Return the enum value, so that sets of types have the same order in every process."""
        return self.as_datatype_enum

    def __int__(self) -> int:
        """Return the enum value."""
        return self.as_datatype_enum

    def __repr__(self) -> str:
        """Return the name as it is written in a program."""
        return f"tf.{self.name}"

    def __str__(self) -> str:
        """Return the form used inside messages."""
        return f"<dtype: {self.name!r}>"

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        """Pickle and copy by name, so that the type stays interned."""
        return as_dtype, (self.name,)


# Kinds: f float, i signed, u unsigned, c complex, q quantized, b bool, o no arithmetic.
# A capital letter marks a type that is not counted as numeric (is_numeric). A number stands for a
# type of that many bytes that ml_dtypes adds to NumPy; few programs have one, and importing that
# package is a thirtieth of the time to the first answer of a small graph.
_TYPES: tuple[tuple[str, int, type[Any] | builtins.int, str], ...] = (
    ("float32", 1, np.float32, "f"),
    ("float64", 2, np.float64, "f"),
    ("int32", 3, np.int32, "i"),
    ("uint8", 4, np.uint8, "u"),
    ("int16", 5, np.int16, "i"),
    ("int8", 6, np.int8, "i"),
    ("string", 7, object, "o"),
    ("complex64", 8, np.complex64, "c"),
    ("int64", 9, np.int64, "i"),
    ("bool", 10, np.bool_, "b"),
    ("qint8", 11, np.int8, "q"),
    ("quint8", 12, np.uint8, "q"),
    ("qint32", 13, np.int32, "q"),
    ("bfloat16", 14, 2, "f"),
    ("qint16", 15, np.int16, "q"),
    ("quint16", 16, np.uint16, "q"),
    ("uint16", 17, np.uint16, "u"),
    ("complex128", 18, np.complex128, "c"),
    ("float16", 19, np.float16, "f"),
    ("resource", 20, object, "r"),
    ("variant", 21, object, "r"),
    ("uint32", 22, np.uint32, "u"),
    ("uint64", 23, np.uint64, "u"),
    ("float8_e5m2", 24, 1, "F"),
    ("float8_e4m3fn", 25, 1, "F"),
    ("float8_e4m3fnuz", 26, 1, "F"),
    ("float8_e4m3b11fnuz", 27, 1, "F"),
    ("float8_e5m2fnuz", 28, 1, "F"),
    ("int4", 29, 1, "I"),
    ("uint4", 30, 1, "U"),
    ("int2", 31, 1, "I"),
    ("uint2", 32, 1, "U"),
    ("float4_e2m1fn", 33, 1, "F"),
)

_INTERN_TABLE: dict[int, DType] = {}
# The enum values of the types whose NumPy types are in ml_dtypes.
_OF_ML_DTYPES: set[builtins.int] = set()


def _make(
    name: str,
    enum: int,
    numpy_type: type[Any] | builtins.int,
    kind: str,
    base: DType | None,
) -> DType:
    dtype = object.__new__(DType)
    lower = kind.lower()
    fields: dict[str, Any] = {
        "name": name,
        "as_datatype_enum": enum,
        "_type_enum": enum,
        "base_dtype": dtype if base is None else base,
        "is_ref_dtype": base is not None,
        "_is_ref_dtype": base is not None,
        "is_bool": lower == "b",
        "is_complex": lower == "c",
        "is_floating": lower == "f",
        "is_integer": lower in "iu",
        "is_unsigned": lower == "u",
        "is_quantized": lower == "q",
        "is_numeric": kind in "fiucq",
        "is_numpy_compatible": kind != "r",
        "real_dtype": dtype,
    }
    if isinstance(numpy_type, builtins.int):
        fields["size"] = numpy_type
        _OF_ML_DTYPES.add(enum)
    else:
        numpy_dtype = np.dtype(numpy_type)
        fields |= {"as_numpy_dtype": numpy_type, "numpy_dtype": numpy_dtype}
        fields["size"] = 0 if numpy_type is object else numpy_dtype.itemsize
    if name.startswith("complex"):
        fields["real_dtype"] = _INTERN_TABLE[1 if name.startswith("complex64") else 2]
    for field, value in fields.items():
        object.__setattr__(dtype, field, value)
    _INTERN_TABLE[enum] = dtype
    return dtype


for _name, _enum, _numpy_type, _kind in _TYPES:
    _base = _make(_name, _enum, _numpy_type, _kind, None)
    _ref = _make(f"{_name}_ref", _enum + _REF_OFFSET, _numpy_type, _kind, _base)
    object.__setattr__(_base, "_as_ref", _ref)
    object.__setattr__(_ref, "_as_ref", _ref)

float32 = _INTERN_TABLE[1]
float64 = double = _INTERN_TABLE[2]
int32 = _INTERN_TABLE[3]
uint8 = _INTERN_TABLE[4]
int16 = _INTERN_TABLE[5]
int8 = _INTERN_TABLE[6]
string = _INTERN_TABLE[7]
complex64 = _INTERN_TABLE[8]
int64 = _INTERN_TABLE[9]
bool = _INTERN_TABLE[10]  # the builtin is spelled builtins.bool in this file
qint8 = _INTERN_TABLE[11]
quint8 = _INTERN_TABLE[12]
qint32 = _INTERN_TABLE[13]
bfloat16 = _INTERN_TABLE[14]
qint16 = _INTERN_TABLE[15]
quint16 = _INTERN_TABLE[16]
uint16 = _INTERN_TABLE[17]
complex128 = _INTERN_TABLE[18]
float16 = half = _INTERN_TABLE[19]
resource = _INTERN_TABLE[20]
variant = _INTERN_TABLE[21]
uint32 = _INTERN_TABLE[22]
uint64 = _INTERN_TABLE[23]
float8_e5m2 = _INTERN_TABLE[24]
float8_e4m3fn = _INTERN_TABLE[25]
float8_e4m3fnuz = _INTERN_TABLE[26]
float8_e4m3b11fnuz = _INTERN_TABLE[27]
float8_e5m2fnuz = _INTERN_TABLE[28]
int4 = _INTERN_TABLE[29]
uint4 = _INTERN_TABLE[30]
int2 = _INTERN_TABLE[31]
uint2 = _INTERN_TABLE[32]
float4_e2m1fn = _INTERN_TABLE[33]

float32_ref = float32._as_ref
float64_ref = double_ref = float64._as_ref
int32_ref = int32._as_ref
uint8_ref = uint8._as_ref
int16_ref = int16._as_ref
int8_ref = int8._as_ref
string_ref = string._as_ref
complex64_ref = complex64._as_ref
int64_ref = int64._as_ref
bool_ref = bool._as_ref
qint8_ref = qint8._as_ref
quint8_ref = quint8._as_ref
qint32_ref = qint32._as_ref
bfloat16_ref = bfloat16._as_ref
qint16_ref = qint16._as_ref
quint16_ref = quint16._as_ref
uint16_ref = uint16._as_ref
complex128_ref = complex128._as_ref
float16_ref = half_ref = float16._as_ref
resource_ref = resource._as_ref
variant_ref = variant._as_ref
uint32_ref = uint32._as_ref
uint64_ref = uint64._as_ref
float8_e5m2_ref = float8_e5m2._as_ref
float8_e4m3fn_ref = float8_e4m3fn._as_ref
float8_e4m3fnuz_ref = float8_e4m3fnuz._as_ref
float8_e4m3b11fnuz_ref = float8_e4m3b11fnuz._as_ref
float8_e5m2fnuz_ref = float8_e5m2fnuz._as_ref
int4_ref = int4._as_ref
uint4_ref = uint4._as_ref
int2_ref = int2._as_ref
uint2_ref = uint2._as_ref
float4_e2m1fn_ref = float4_e2m1fn._as_ref

_QUANTIZED_DTYPES_NO_REF = frozenset([qint8, quint8, qint16, quint16, qint32])
_QUANTIZED_DTYPES_REF = frozenset(dtype._as_ref for dtype in _QUANTIZED_DTYPES_NO_REF)
QUANTIZED_DTYPES = _QUANTIZED_DTYPES_NO_REF | _QUANTIZED_DTYPES_REF

# NumPy scalar type -> DType. Types of text of any width (np.str_, np.bytes_) are strings.
_NUMPY_TO_TF: dict[type[Any], DType] = {
    dtype.as_numpy_dtype: dtype
    for dtype in _INTERN_TABLE.values()
    if dtype._type_enum not in _OF_ML_DTYPES
    and not (dtype._is_ref_dtype or dtype.is_quantized or dtype.as_numpy_dtype is object)
} | {np.object_: string, np.str_: string, np.bytes_: string}
for _c_type in (
    np.intc,
    np.uintc,
    np.longlong,
    np.ulonglong,
):  # a type of their own on some systems
    _NUMPY_TO_TF.setdefault(
        _c_type,
        _NUMPY_TO_TF[np.dtype(f"{np.dtype(_c_type).kind}{np.dtype(_c_type).itemsize}").type],
    )

_ANY_TO_TF: dict[Any, DType] = {
    **_INTERN_TABLE,
    **{dtype.name: dtype for dtype in _INTERN_TABLE.values()},
    "half": half,
    "float": float32,
    "double": double,
    "half_ref": half_ref,
    "float_ref": float32_ref,
    "double_ref": double_ref,
    **_NUMPY_TO_TF,
    **{np.dtype(numpy_type): dtype for numpy_type, dtype in _NUMPY_TO_TF.items()},
    float: float32,
    builtins.bool: bool,
    object: string,
}
for _dtype in _QUANTIZED_DTYPES_NO_REF:  # the structured dtypes TensorFlow uses for these
    _ANY_TO_TF[np.dtype([(_dtype.name, _dtype.as_numpy_dtype)])] = _dtype

# A value that `as_dtype` accepts.
DTypeLike: TypeAlias = "DType | np.dtype[Any] | type[Any] | str | builtins.int"


_added_types: list[DType] = []  # the types that have those of ml_dtypes now


def _add_ml_dtypes() -> builtins.bool:
    """Give the types of ml_dtypes their NumPy types; return False if they have them already."""
    if _added_types:
        return False
    ensure_imported("ml_dtypes")
    import ml_dtypes

    for enum in sorted(_OF_ML_DTYPES):
        dtype = _INTERN_TABLE[enum]
        numpy_type = getattr(ml_dtypes, dtype.base_dtype.name)
        object.__setattr__(dtype, "as_numpy_dtype", numpy_type)
        object.__setattr__(dtype, "numpy_dtype", np.dtype(numpy_type))
        if not dtype._is_ref_dtype:
            _NUMPY_TO_TF[numpy_type] = dtype
            _ANY_TO_TF[numpy_type] = _ANY_TO_TF[dtype.numpy_dtype] = dtype
    _added_types[:] = [_INTERN_TABLE[enum] for enum in sorted(_OF_ML_DTYPES)]
    return True


def as_dtype(type_value: object) -> DType:
    """Return the DType for a DType, its name or number, a NumPy type or a Python type.

    >>> as_dtype("float"), as_dtype(np.int32), as_dtype(np.dtype("U5")), as_dtype(19)
    (tf.float32, tf.int32, tf.string, tf.float16)

    Raises:
        TypeError: Nothing corresponds to the value.
    """
    if type(type_value) is DType:
        return type_value
    try:
        return _ANY_TO_TF[type_value]
    except (KeyError, TypeError):
        pass
    numpy_dtype = (
        type_value if isinstance(type_value, np.dtype) else getattr(type_value, "dtype", None)
    )
    if isinstance(numpy_dtype, np.dtype):
        found = _ANY_TO_TF.get(numpy_dtype) or _NUMPY_TO_TF.get(numpy_dtype.type)
        if found is not None:
            return found
    if "ml_dtypes" in sys.modules and _add_ml_dtypes():
        return as_dtype(type_value)
    raise TypeError(
        f"Cannot convert the argument `type_value`: {type_value!r} to a TensorFlow DType."
    )
