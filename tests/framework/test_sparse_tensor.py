"""SparseTensor: parts, shapes, conversion."""

from __future__ import annotations

import pytest

import tfnb as tf
from tfnb.framework.sparse_tensor import convert_to_tensor_or_sparse_tensor, is_sparse


def make() -> tf.SparseTensor:
    """One element of a (2, 3) tensor."""
    return tf.SparseTensor([[0, 1]], [1.5], [2, 3])


def test_parts_are_converted_in_a_scope(graph: tf.Graph) -> None:
    """Indices and shape are int64."""
    sparse = make()
    assert [op.name for op in graph.get_operations()] == [
        "SparseTensor/indices",
        "SparseTensor/values",
        "SparseTensor/dense_shape",
    ]
    assert (sparse.indices.dtype, sparse.dense_shape.dtype) == (tf.int64, tf.int64)
    assert (sparse.dtype, sparse.op, sparse.graph) == (tf.float32, sparse.values.op, graph)
    assert sparse.name == "SparseTensor/values:0"


def test_the_shape_is_the_wholes() -> None:
    """The dense shape can be refined, not contradicted."""
    sparse = tf.SparseTensor([[0, 1]], [1.5], tf.placeholder(tf.int64, [2]))
    assert sparse.shape.as_list() == [None, None]
    sparse.set_shape([2, None])
    assert sparse.get_shape().as_list() == [2, None]
    with pytest.raises(ValueError, match="are not compatible"):
        sparse.set_shape([3, None])


def test_parts_must_fit() -> None:
    """One row of indices per value, one column per dimension."""
    with pytest.raises(ValueError, match="Dimensions 1 and 2 are not compatible"):
        tf.SparseTensor([[0, 1]], [1.0, 2.0], [2, 3])
    with pytest.raises(ValueError, match="Dimensions 2 and 1 are not compatible"):
        tf.SparseTensor([[0, 1]], [1.0], [2])
    with pytest.raises(ValueError, match="must have rank 2"):
        tf.SparseTensor([0], [1.0], [2])


def test_values_and_tensors_convert() -> None:
    """A SparseTensorValue becomes a SparseTensor, a dense value a tensor."""
    value = tf.SparseTensorValue([[0]], [1.0], [2])
    assert isinstance(convert_to_tensor_or_sparse_tensor(value), tf.SparseTensor)
    sparse = make()
    assert convert_to_tensor_or_sparse_tensor(sparse, tf.float32) is sparse
    assert isinstance(convert_to_tensor_or_sparse_tensor(1.0), tf.Tensor)
    with pytest.raises(
        RuntimeError, match=r"Sparse dtype mismatch. Requested: int32,  Actual: float32"
    ):
        convert_to_tensor_or_sparse_tensor(sparse, tf.int32)
    with pytest.raises(TypeError, match="is neither a SparseTensor nor SparseTensorValue"):
        tf.SparseTensor.from_value(3)
    assert (is_sparse(value), is_sparse(sparse), is_sparse(3)) == (True, True, False)


def test_other_values_have_the_same_places() -> None:
    """with_values keeps indices and shape."""
    sparse = make()
    doubled = sparse.with_values(sparse.values * 2)
    assert (doubled.indices, doubled.dense_shape) == (sparse.indices, sparse.dense_shape)
    assert doubled.values.op in sparse.consumers()


def test_eval_gives_a_value(graph: tf.Graph) -> None:
    """The three parts are run at once."""
    sparse = make()

    class Session:
        def __init__(self) -> None:
            self.graph = graph

        def run(self, fetches: list[tf.Tensor], feed_dict: object = None) -> list[str]:
            return [tensor.name for tensor in fetches]

    value = sparse.eval(session=Session())
    assert value.values == "SparseTensor/values:0"
    assert isinstance(value, tf.SparseTensorValue)


def test_a_sparse_tensor_prints_its_parts() -> None:
    """In the order of the constructor."""
    text = str(make())
    assert text.startswith('SparseTensor(indices=Tensor("SparseTensor/indices:0", shape=(1, 2)')
    assert "dense_shape=Tensor(" in text
