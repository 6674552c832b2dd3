"""Arguments that public functions received after TensorFlow 1; the answers are TensorFlow's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tfnb as tf

if TYPE_CHECKING:
    from pathlib import Path

_BOXES = [
    [[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, 2, 1, 3]],
    [[1, 1, 0, 0], [0, 5, 1, 6], [0, 5, 1, 6.05]],
]


def _run(fetches: Any) -> Any:
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        return sess.run(fetches)


@pytest.fixture(autouse=True)
def _own_graph() -> Any:
    with tf.Graph().as_default():
        yield


def test_an_anonymous_static_table_is_filled_by_the_step_that_asks() -> None:
    """Each step has its own table; a step that does not fill it raises an error."""
    initializer = tf.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2])
    table = tf.lookup.StaticHashTable(initializer, -1, None, True)
    with tf.control_dependencies([tf.tables_initializer()]):
        filled = table.lookup(tf.constant(["a", "c"]))
    with tf.Session() as sess:
        assert [sess.run(filled).tolist() for _ in range(2)] == [[1, -1], [1, -1]]
        with pytest.raises(tf.errors.FailedPreconditionError, match="Table not initialized"):
            sess.run(table.lookup(tf.constant(["a"])))


def test_anonymous_words() -> None:
    """An anonymous vocabulary is a static table; unknown words get further numbers."""
    initializer = tf.lookup.KeyValueTensorInitializer(["a"], tf.constant([0], tf.int64))
    table = tf.lookup.StaticVocabularyTable(initializer, 1, experimental_is_anonymous=True)
    with tf.control_dependencies([table.initializer]):
        found = table.lookup(tf.constant(["a", "b"]))
    assert _run(found).tolist() == [0, 1]


@pytest.mark.parametrize("default", [0.0, [0.0, 0.0]])
def test_anonymous_mutable_tables_begin_empty(default: Any) -> None:
    """An anonymous mutable table is empty at the beginning of each step."""
    table = tf.lookup.experimental.MutableHashTable(
        tf.int64, tf.float32, default, experimental_is_anonymous=True
    )
    dense = tf.lookup.experimental.DenseHashTable(
        tf.int64, tf.float32, 0.0, -1, -2, experimental_is_anonymous=True
    )
    value = np.full(np.shape(default), 2.0)
    with tf.control_dependencies([table.insert([1], [value.tolist()]), dense.insert([1], [2.0])]):
        keys = tf.constant([1, 2], tf.int64)
        found = table.lookup(keys), dense.lookup(keys)
    for _ in range(2):
        ours, other = _run(found)
        np.testing.assert_array_equal(ours, [value, np.zeros_like(value)])
        np.testing.assert_array_equal(other, [2.0, 0.0])
    assert "Anonymous" in table.resource_handle.op.type
    assert dense.resource_handle.op.type == "AnonymousMutableDenseHashTable"


def test_a_fast_lookup_has_a_dense_gradient() -> None:
    """With allow_fast_lookup the gradient of rows of one tensor is dense."""
    rows = tf.constant(np.arange(8.0).reshape(4, 2))
    ids = tf.SparseTensor([[0, 0], [0, 1], [1, 0]], tf.constant([1, 1, 3], tf.int64), [2, 2])
    weights = tf.SparseTensor(ids.indices, tf.constant([1.0, 2.0, 3.0], tf.float64), [2, 2])
    for given in (None, weights):
        slow = tf.nn.embedding_lookup_sparse(rows, ids, given, combiner="sum")
        fast = tf.nn.embedding_lookup_sparse(rows, ids, given, "mod", None, "sum", None, True)
        np.testing.assert_array_equal(*_run([slow, fast]))
    direct = tf.nn.embedding_lookup_sparse(rows, ids, None, allow_fast_lookup=True)
    assert isinstance(tf.gradients(direct, rows)[0], tf.Tensor)
    safe = tf.nn.safe_embedding_lookup_sparse(rows, ids, allow_fast_lookup=True)
    np.testing.assert_array_equal(_run(safe), [[2.0, 3.0], [6.0, 7.0]])


def test_boxes_of_several_images_are_suppressed_image_by_image() -> None:
    """Boxes are suppressed per image, with the meaning of the other arguments unchanged."""
    scores = tf.constant([[0.1, 0.9, 0.5], [0.2, 0.3, 0.4]])
    boxes = tf.constant(_BOXES, tf.float32)
    found = tf.image.non_max_suppression_padded(
        boxes, scores, 4, 0.5, 0.15, True, None, False, False, 512
    )
    indices, valid = _run(found)
    assert indices.tolist() == [[1, 2, 0, 0], [2, 0, 0, 0]]
    assert valid.tolist() == [2, 2]
    with pytest.raises(ValueError, match="must be True for batched input"):
        tf.image.non_max_suppression_padded(boxes, scores, 4)


@pytest.mark.parametrize("make", [tf.zeros, tf.ones, lambda *a, **k: tf.fill(a[0], 1, **k)])
def test_layouts_are_refused(make: Any) -> None:
    """The only accepted layout is None."""
    assert make([2], layout=None).shape.as_list() == [2]
    with pytest.raises(ValueError, match="layout must be None: tensors over several"):
        make([2], layout="unsharded")


def test_models_of_several_files_are_refused(tmp_path: Path) -> None:
    """The error is TensorFlow's."""
    builder = tf.saved_model.Builder(str(tmp_path / "model"))
    with pytest.raises(RuntimeError, match="No proto_splitter is provided"):
        builder.save(False, True, None)


def test_optimizers_take_the_flag_of_strategies() -> None:
    """The flag has no effect on one machine."""
    v = tf.Variable(1.0)
    step = tf.train.GradientDescentOptimizer(0.5).apply_gradients(
        [(tf.constant(1.0), v)], None, None, True
    )
    with tf.Session() as sess:
        sess.run(v.initializer)
        sess.run(step)
        assert sess.run(v) == 0.5


def test_messages_may_differ_by_a_tolerance() -> None:
    """The tolerance applies to floats only, at any depth."""
    case = tf.test.TestCase()
    wanted = tf.train.Example()
    wanted.features.feature["a"].float_list.value.extend([1.0, 2.0])
    found = tf.train.Example()
    found.features.feature["a"].float_list.value.extend([1.001, 2.0])
    case.assertProtoEquals(wanted, found, relative_tolerance=0.01)
    with pytest.raises(AssertionError):
        case.assertProtoEquals(wanted, found)
    with pytest.raises(AssertionError):
        case.assertProtoEquals(wanted, found, None, 0.0001)
    with pytest.raises(AssertionError, match="mine"):
        case.fail("it failed", "mine")
