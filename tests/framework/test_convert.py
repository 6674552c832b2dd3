"""Conversion of values to tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tfnb as tf
from tfnb.framework.convert import (
    convert_n_to_tensor,
    internal_convert_n_to_tensor,
    is_tensor,
    set_constant_function,
)


@pytest.mark.parametrize(
    ("value", "dtype", "shape"),
    [
        (1, tf.int32, []),
        (1.5, tf.float32, []),
        (True, tf.bool, []),
        ("s", tf.string, []),
        (b"s", tf.string, []),
        (1j, tf.complex128, []),
        (2**40, tf.int64, []),
        ([1, 2.5], tf.float32, [2]),
        ([], tf.float32, [0]),
        ([[1], [2]], tf.int32, [2, 1]),
        ((1, 2), tf.int32, [2]),
        (np.float64(1), tf.float64, []),
        (np.arange(3), tf.int64, [3]),
        (np.array(["a", "b"]), tf.string, [2]),
        ([np.float32(1)], tf.float32, [1]),
        (tf.TensorShape([1, 2]), tf.int32, [2]),
        (tf.TensorShape([2**40]), tf.int64, [1]),
        (tf.Dimension(3), tf.int32, []),
    ],
    ids=str,
)
def test_plain_values_become_constants(value: object, dtype: tf.DType, shape: list[int]) -> None:
    """Python numbers are 32 bits where they fit, arrays keep their dtype."""
    tensor = tf.convert_to_tensor(value)
    assert tensor.op.type == "Const"
    assert tensor.dtype == dtype
    assert tensor.shape.as_list() == shape


@pytest.mark.parametrize(
    ("value", "dtype", "error", "text"),
    [
        (None, None, ValueError, "None values not supported"),
        ([None], None, TypeError, "Failed to convert elements of"),
        pytest.param(object(), None, TypeError, "Failed to convert elements of", id="object"),
        ([[1], [2, 3]], None, ValueError, "inhomogeneous shape"),
        (1.5, tf.int32, TypeError, "Expected int32, but got 1.5 of type 'float'"),
        ("s", tf.int32, TypeError, "Expected int32, but got s of type 'str'"),
        (tf.TensorShape([None]), None, ValueError, "Cannot convert a partially known TensorShape"),
        (tf.Dimension(None), None, ValueError, "Cannot convert unknown Dimension"),
        (tf.TensorShape([1]), tf.float32, TypeError, "Cannot convert TensorShape .* to dtype"),
        (tf.TensorShape([2**40]), tf.int32, ValueError, "a dimension is too large"),
        (tf.Dimension(1), tf.float32, TypeError, "Cannot convert Dimension .* to dtype"),
    ],
    ids=str,
)
def test_values_that_are_no_tensor_are_refused(
    value: object, dtype: object, error: type[Exception], text: str
) -> None:
    """The class and message of the error are TensorFlow's."""
    with pytest.raises(error, match=text):
        tf.convert_to_tensor(value, dtype)


def test_a_tensor_is_itself_if_the_dtype_fits() -> None:
    """Another dtype is refused, not cast."""
    a = tf.constant(1.0)
    assert tf.convert_to_tensor(a) is a
    assert tf.convert_to_tensor(a, tf.float32) is a
    with pytest.raises(
        ValueError, match="q: Tensor conversion requested dtype int32 for Tensor with"
    ):
        tf.convert_to_tensor(a, tf.int32, name="q")


def test_a_preferred_dtype_is_a_wish() -> None:
    """The preferred dtype applies if the value can have it."""
    assert tf.convert_to_tensor(1, preferred_dtype=tf.float32).dtype == tf.float32
    assert tf.convert_to_tensor(1.5, dtype_hint=tf.int32).dtype == tf.float32


def test_the_name_goes_to_the_constant() -> None:
    """Constants of list elements have numbered names."""
    assert tf.convert_to_tensor(3, name="q").name == "q:0"
    tensors = convert_n_to_tensor([1, 2.0], name="n")
    assert [t.name for t in tensors] == ["n_0:0", "n_1:0"]
    assert [t.dtype for t in internal_convert_n_to_tensor([1, 2], tf.float32)] == [tf.float32] * 2
    with pytest.raises(TypeError, match="values must be a sequence"):
        convert_n_to_tensor(3)  # type: ignore[arg-type]


class Box:
    """An object with a value."""

    def __init__(self, value: Any) -> None:
        self.value = value


@pytest.fixture
def clean_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy of the registry, to which the test may add."""
    from tfnb.framework import convert

    copy = {priority: list(entries) for priority, entries in convert._registry.items()}
    monkeypatch.setattr(convert, "_registry", copy)
    monkeypatch.setattr(convert, "_cache", {})


@pytest.mark.usefixtures("clean_registry")
def test_types_can_be_taught_to_be_tensors() -> None:
    """The function of lower priority is called first, and may decline."""
    asked = []

    def decline(value: Box, dtype: Any = None, name: Any = None, as_ref: bool = False) -> Any:
        asked.append((dtype, name, as_ref))
        return NotImplemented

    def unbox(value: Box, dtype: Any = None, name: Any = None, as_ref: bool = False) -> Any:
        return tf.constant(value.value, dtype=dtype, name=name)

    tf.register_tensor_conversion_function(Box, unbox)
    tf.register_tensor_conversion_function(Box, decline, priority=50)
    tensor = tf.convert_to_tensor(Box(3), tf.int64, "b")
    assert (tensor.dtype, tensor.name) == (tf.int64, "b:0")
    assert asked == [(tf.int64, "b", False)]


@pytest.mark.usefixtures("clean_registry")
def test_a_conversion_must_keep_its_word() -> None:
    """A result of another dtype, or that is not a tensor, is an error."""

    def wrong(value: Box, dtype: Any = None, name: Any = None, as_ref: bool = False) -> Any:
        return value.value

    tf.register_tensor_conversion_function(Box, wrong, priority=50)
    with pytest.raises(RuntimeError, match="returned non-Tensor: 3"):
        tf.convert_to_tensor(Box(3))
    with pytest.raises(
        RuntimeError, match="incompatible dtype: requested = int32, actual = float32"
    ):
        tf.convert_to_tensor(Box(tf.constant(1.0)), tf.int32)
    with pytest.raises(
        RuntimeError, match="incompatible dtype: requested = int32, actual = float32"
    ):
        tf.convert_to_tensor(Box(tf.constant(1.0)), preferred_dtype=tf.int32)


def test_conversions_are_for_types_of_ones_own() -> None:
    """Numbers and arrays cannot have a registered conversion."""
    with pytest.raises(TypeError, match="must be a type or a tuple of types"):
        tf.register_tensor_conversion_function("Box", lambda v: v)
    with pytest.raises(TypeError, match="Cannot register conversions for Python numeric types"):
        tf.register_tensor_conversion_function((Box, int), lambda v: v)
    with pytest.raises(TypeError, match="conversion_func must be callable"):
        tf.register_tensor_conversion_function(Box, 3)


def test_an_object_may_convert_itself() -> None:
    """`__tf_tensor__(dtype, name)` has precedence over the registry."""

    class Own:
        def __tf_tensor__(self, dtype: Any, name: Any) -> tf.Tensor:
            return tf.constant(7, dtype=dtype, name=name)

    assert tf.convert_to_tensor(Own(), tf.int64, "own").name == "own:0"


def test_what_makes_constants_can_be_replaced() -> None:
    """Plain values are converted by the installed function."""
    from tfnb.framework import convert

    seen = []

    def constant(value: Any, dtype: Any = None, name: Any = None) -> tf.Tensor:
        seen.append(value)
        return convert.graph_constant(value, dtype, name)

    old = convert._constant
    set_constant_function(constant)
    try:
        assert tf.convert_to_tensor(3).dtype == tf.int32
    finally:
        set_constant_function(old)
    assert seen == [3]


def test_is_tensor_knows_composites() -> None:
    """Tensors, sparse tensors and slices are tensors; arrays are not."""
    a = tf.constant([[1.0]])
    assert is_tensor(a)
    assert is_tensor(tf.IndexedSlices(a, tf.constant([0])))
    assert is_tensor(tf.SparseTensor([[0]], [1.0], [1]))
    assert not is_tensor(np.ones(3))
