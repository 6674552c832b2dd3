"""DType: names, numbers and conversions."""

from __future__ import annotations

import numpy as np
import pytest

from tests.core import golden_values
from tfnb.core import dtypes

# TensorFlow has structured dtypes for the quantized types, and none for handles.
DIFFERENT = {
    "dtypes.resource.limits": "ValueError: <dtype: 'resource'> does not have defined limits.",
    "dtypes.variant.limits": "ValueError: <dtype: 'variant'> does not have defined limits.",
    "dtypes.resource.as_numpy_dtype": "<class 'object'>",
    "dtypes.variant.as_numpy_dtype": "<class 'object'>",
    "dtypes.qint8.as_numpy_dtype": "<class 'numpy.int8'>",
    "dtypes.quint8.as_numpy_dtype": "<class 'numpy.uint8'>",
    "dtypes.qint16.as_numpy_dtype": "<class 'numpy.int16'>",
    "dtypes.quint16.as_numpy_dtype": "<class 'numpy.uint16'>",
    "dtypes.qint32.as_numpy_dtype": "<class 'numpy.int32'>",
}


def test_dtypes_are_tensorflows() -> None:
    """Every property, conversion and error is the recorded one."""
    found = golden_values.disagreements("dtypes", golden_values.tfnb_names(), different=DIFFERENT)

    assert found == []


def test_there_is_one_object_per_type() -> None:
    """Names, numbers, NumPy types and the constructor all lead to the same object."""
    ways = [dtypes.DType(3), *map(dtypes.as_dtype, (3, "int32", np.int32, np.dtype(np.int32)))]

    assert all(way is dtypes.int32 for way in ways)


def test_base_and_ref_types_belong_together() -> None:
    """A reference type is its base plus 100, and keeps everything else of it."""
    for enum in range(1, 34):
        base = dtypes.as_dtype(enum)
        ref = base._as_ref

        assert (ref.as_datatype_enum, ref.base_dtype) == (enum + 100, base)
        assert ref.numpy_dtype == base.numpy_dtype
        assert ref.name == f"{base.name}_ref"


def test_a_dtype_cannot_be_changed() -> None:
    """Everybody shares the object, so setting or deleting a field is refused."""
    with pytest.raises(AttributeError, match="Cannot set 'name': a DType is immutable"):
        dtypes.float32.name = "x"
    with pytest.raises(AttributeError, match="Cannot delete 'name'"):
        del dtypes.float32.name


def test_numpy_dtype_is_a_dtype_instance() -> None:
    """numpy_dtype is what NumPy compares and allocates with."""
    assert np.dtype(np.float32) == dtypes.float32.numpy_dtype
    assert dtypes.bfloat16.numpy_dtype.itemsize == 2
    assert dtypes.string.numpy_dtype == np.dtype(object)
