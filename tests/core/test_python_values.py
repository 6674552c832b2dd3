"""Python values become arrays of TensorFlow's types."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tfnb.core import dtypes
from tfnb.core.python_values import convert_to_ndarray


def test_scalars_are_arrays_of_rank_0() -> None:
    """A Python or NumPy scalar gives a 0-d array, a string one of bytes."""
    for value, dtype in [(1, np.int32), (1.5, np.float32), (True, np.bool_), (1j, np.complex128)]:
        array = convert_to_ndarray(value)

        assert (array.shape, array.dtype) == ((), dtype)
    text = convert_to_ndarray("é")

    assert (text.shape, text.dtype, text[()]) == ((), object, b"\xc3\xa9")


def test_strings_of_numpy_become_bytes() -> None:
    """Arrays of kind S, U and object give the same array; one of bytes is not copied."""
    wanted = [b"a", b"bc"]
    for array in (np.array(["a", "bc"]), np.array([b"a", b"bc"]), np.array(["a", b"bc"], object)):
        assert convert_to_ndarray(array).tolist() == wanted
    ready = np.array(wanted, object)

    assert convert_to_ndarray(ready) is ready


def test_no_numbers_are_no_strings_either() -> None:
    """An empty array becomes one of strings; a number in it is refused."""
    empty = convert_to_ndarray(np.zeros((0, 2)), dtypes.string)

    assert (empty.dtype, empty.shape) == (object, (0, 2))
    with pytest.raises(TypeError, match=r"Expected binary or unicode string, got 1\.0"):
        convert_to_ndarray(np.ones(2), dtypes.string)


def test_an_array_of_the_right_type_is_not_copied() -> None:
    """What needs no conversion is passed on."""
    array = np.zeros(3, np.float32)

    assert convert_to_ndarray(array) is array
    assert convert_to_ndarray(array, dtypes.float32) is array


def test_anything_with_array_is_an_array() -> None:
    """An object with __array__, such as a table's column, keeps its type."""

    class Column:
        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            return np.array([1.0, 2.0])

    assert convert_to_ndarray(Column()).dtype == np.float64
    assert convert_to_ndarray(Column(), dtypes.int32).tolist() == [1, 2]


def test_the_offending_element_is_named() -> None:
    """The error shows the first element of the wrong kind, however deep it is."""
    with pytest.raises(TypeError, match="Expected float32, but got b of type 'str'"):
        convert_to_ndarray([[1.0, 2.0], [3.0, "b"]], dtypes.float32)
    with pytest.raises(TypeError, match=r"Expected int32, but got 2\.5 of type 'float64'"):
        convert_to_ndarray([1, np.float64(2.5)], dtypes.int32)


def test_extended_types_convert_as_elements() -> None:
    """Scalars of ml_dtypes count as numbers."""
    values = [ml_dtypes.bfloat16(1.5), 2]

    assert convert_to_ndarray(values, dtypes.float32).tolist() == [1.5, 2.0]
    with pytest.raises(TypeError, match=r"Expected int32, but got 1\.5 of type 'bfloat16'"):
        convert_to_ndarray(values, dtypes.int32)
