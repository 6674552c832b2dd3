# The names of tf.dtypes; written by scripts/generate_public_names.py.
# ruff: noqa
from tfnb.core.dtypes import DType as DType
from tfnb.core.dtypes import QUANTIZED_DTYPES as QUANTIZED_DTYPES
from tfnb.core.dtypes import as_dtype as as_dtype
from tfnb.core.dtypes import bfloat16 as bfloat16
from tfnb.core.dtypes import bool as bool
from tfnb.core.dtypes import complex128 as complex128
from tfnb.core.dtypes import complex64 as complex64
from tfnb.core.dtypes import double as double
from tfnb.core.dtypes import float16 as float16
from tfnb.core.dtypes import float32 as float32
from tfnb.core.dtypes import float64 as float64
from tfnb.core.dtypes import half as half
from tfnb.core.dtypes import int16 as int16
from tfnb.core.dtypes import int32 as int32
from tfnb.core.dtypes import int64 as int64
from tfnb.core.dtypes import int8 as int8
from tfnb.core.dtypes import qint16 as qint16
from tfnb.core.dtypes import qint32 as qint32
from tfnb.core.dtypes import qint8 as qint8
from tfnb.core.dtypes import quint16 as quint16
from tfnb.core.dtypes import quint8 as quint8
from tfnb.core.dtypes import resource as resource
from tfnb.core.dtypes import string as string
from tfnb.core.dtypes import uint16 as uint16
from tfnb.core.dtypes import uint32 as uint32
from tfnb.core.dtypes import uint64 as uint64
from tfnb.core.dtypes import uint8 as uint8
from tfnb.core.dtypes import variant as variant
from tfnb.library.math.clip_ops import saturate_cast as saturate_cast
from tfnb.ops.array.cast_ops import cast as cast
from tfnb.ops.math.complex_ops import complex_ as complex
from tfnb.ops.strings.string_number_ops import as_string as as_string

__all__ = [
    "DType",
    "QUANTIZED_DTYPES",
    "as_dtype",
    "as_string",
    "bfloat16",
    "bool",
    "cast",
    "complex",
    "complex128",
    "complex64",
    "double",
    "experimental",
    "float16",
    "float32",
    "float64",
    "half",
    "int16",
    "int32",
    "int64",
    "int8",
    "qint16",
    "qint32",
    "qint8",
    "quint16",
    "quint8",
    "resource",
    "saturate_cast",
    "string",
    "uint16",
    "uint32",
    "uint64",
    "uint8",
    "variant",
]
