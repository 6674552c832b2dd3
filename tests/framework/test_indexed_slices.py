"""IndexedSlices: parts, conversion, what passes through."""

from __future__ import annotations

import pytest

import tfnb as tf
from tfnb.framework.indexed_slices import (
    convert_to_tensor_or_indexed_slices,
    internal_convert_n_to_tensor_or_indexed_slices,
)


def make(dense_shape: object = (3, 2)) -> tf.IndexedSlices:
    """One row of a (3, 2) tensor."""
    shape = None if dense_shape is None else tf.constant(dense_shape)
    return tf.IndexedSlices(tf.constant([[1.0, 2.0]], name="v"), tf.constant([0], name="i"), shape)


def test_slices_look_like_their_values(graph: tf.Graph) -> None:
    """Name, dtype, op, device and graph are those of the values; the shape is the whole's."""
    slices = make()
    assert (slices.name, slices.dtype, slices.op) == ("v:0", tf.float32, slices.values.op)
    assert (slices.graph, slices.device) == (graph, "")
    assert slices.shape.as_list() == slices.get_shape().as_list() == [3, 2]
    assert make(None).shape.rank is None


def test_slices_print_their_parts() -> None:
    """With the dense shape if there is one."""
    assert str(make(None)) == (
        'IndexedSlices(indices=Tensor("i:0", shape=(1,), dtype=int32), '
        'values=Tensor("v:0", shape=(1, 2), dtype=float32))'
    )
    assert "dense_shape=Tensor(" in str(make())


def test_minus_negates_the_values() -> None:
    """Indices and shape stay."""
    slices = make()
    negated = -slices
    assert negated.values.op.type == "Neg"
    assert (negated.indices, negated.dense_shape) == (slices.indices, slices.dense_shape)
    assert slices.consumers() == [negated.values.op]


def test_slices_become_a_tensor_if_the_shape_is_known() -> None:
    """By UnsortedSegmentSum; another dtype is refused."""
    tensor = tf.convert_to_tensor(make())
    assert tensor.op.type == "UnsortedSegmentSum"
    assert tensor.shape.as_list() == [3, 2]
    with pytest.raises(
        ValueError, match=r"Tensor conversion requested for IndexedSlices .* without"
    ):
        tf.convert_to_tensor(make(None))
    with pytest.raises(
        ValueError, match="Incompatible tensor conversion requested to `dtype` int32"
    ):
        tf.convert_to_tensor(make(), tf.int32)


def test_a_large_tensor_is_warned_about() -> None:
    """The dense tensor may be much larger than its slices."""
    with pytest.warns(UserWarning, match="dense Tensor with 200000000 elements"):
        tf.convert_to_tensor(make((100_000_000, 2)))


def test_slices_pass_where_slices_may() -> None:
    """Other values are converted, None stays None, dtypes are checked."""
    slices = make()
    assert convert_to_tensor_or_indexed_slices(slices) is slices
    assert convert_to_tensor_or_indexed_slices(3.0).dtype == tf.float32
    mixed = internal_convert_n_to_tensor_or_indexed_slices([slices, None, 1], name="n")
    assert mixed[:2] == [slices, None]
    assert mixed[2].name == "n_2:0"
    with pytest.raises(
        ValueError, match="Incompatible tensor conversion requested to `dtype` int32"
    ):
        convert_to_tensor_or_indexed_slices(slices, tf.int32)
    with pytest.raises(TypeError, match="Argument `values` must be iterable"):
        internal_convert_n_to_tensor_or_indexed_slices(3)  # type: ignore[arg-type]
