"""Checkpoints of the first format: writing, reading, slices, errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tfnb as tf

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ops = tf.raw_ops


@pytest.fixture
def sess() -> Iterator[tf.Session]:
    """A session on a graph of its own."""
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


VALUES: list[Any] = [
    np.arange(6, dtype=np.float32).reshape(2, 3),
    np.array([-1, 2**40], np.int64),
    np.array([[1, 0]], np.uint8),
    np.array([1.5, -2], np.float16),
    np.array([True, False]),
    np.array(b"text", dtype=object),
    np.array([1 + 2j], np.complex64),
    np.zeros((0, 3), np.int32),
]


def test_what_was_saved_is_restored(sess: tf.Session, tmp_path: Path) -> None:
    """Every dtype with a list in the message is restored."""
    path = str(tmp_path / "model.ckpt")
    names = [f"v{number}" for number in range(len(VALUES))]
    sess.run(ops.Save(filename=path, tensor_names=names, data=[tf.constant(v) for v in VALUES]))
    for name, value in zip(names, VALUES, strict=True):
        dtype = tf.as_dtype(value.dtype)
        restored = ops.Restore(file_pattern=path, tensor_name=name, dt=dtype)
        found = np.asarray(sess.run(restored), value.dtype)
        assert (restored.dtype, found.shape) == (dtype, value.shape)
        assert np.array_equal(found, value)


def test_slices_are_put_together_from_several_files(sess: tf.Session, tmp_path: Path) -> None:
    """Two halves are saved and restored as a whole and in another part."""
    whole = np.arange(12, dtype=np.float32).reshape(4, 3)
    for shard, rows in enumerate((whole[:2], whole[2:])):
        save = ops.SaveSlices(
            filename=str(tmp_path / f"model-{shard}"),
            tensor_names=["w"],
            shapes_and_slices=[f"4 3 {shard * 2},2:-"],
            data=[tf.constant(rows)],
        )
        sess.run(save)
    pattern = str(tmp_path / "model-?")

    def restore(spec: str) -> Any:
        return ops.RestoreSlice(
            file_pattern=pattern, tensor_name="w", shape_and_slice=spec, dt=tf.float32
        )

    assert sess.run(restore("")).tolist() == whole.tolist()
    part = restore("4 3 1,2:1,2")
    assert part.shape.as_list() == [2, 2]
    assert sess.run(part).tolist() == whole[1:3, 1:3].tolist()
    with pytest.raises(tf.errors.InvalidArgumentError, match="does not match the shape in the"):
        sess.run(restore("4 4 1,2:1,2"))


def test_what_is_not_there_is_refused(sess: tf.Session, tmp_path: Path) -> None:
    """Missing files and names, other dtypes, and files of another format are refused."""
    path = tmp_path / "model.ckpt"

    def restore(name: str, dtype: Any = tf.float32) -> Any:
        return ops.Restore(file_pattern=str(path), tensor_name=name, dt=dtype)

    with pytest.raises(tf.errors.NotFoundError, match="Failed to find any matching files for"):
        sess.run(restore("w"))
    sess.run(ops.Save(filename=str(path), tensor_names=["w"], data=[tf.constant(1.0)]))
    with pytest.raises(tf.errors.NotFoundError, match='Tensor name "x" not found in checkpoint'):
        sess.run(restore("x"))
    with pytest.raises(tf.errors.InvalidArgumentError, match="got a tensor of type float32"):
        sess.run(restore("w", tf.int32))
    path.write_bytes(b"something else" * 10)
    with pytest.raises(tf.errors.DataLossError, match="Unable to open table file"):
        sess.run(restore("w"))
    with pytest.raises(tf.errors.InvalidArgumentError, match="Expected 1 names"):
        sess.run(ops.Save(filename=str(path), tensor_names=["w", "x"], data=[tf.constant(1.0)]))
