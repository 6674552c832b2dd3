"""Whether a tensor fits into memory is known before it is made."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf
from tfnb.core import host_memory
from tfnb.core.host_memory import TensorTooLargeError, check_fits, container_limit

F = np.dtype(np.float32)


@pytest.fixture
def four_megabytes(monkeypatch):
    """A container with four megabytes of memory."""
    monkeypatch.setattr(host_memory, "memory_limit", lambda: 4 << 20)


def test_what_fits_passes(four_megabytes):
    """The limit is the available memory; GPU memory is not checked."""
    check_fits(np, (1024, 1024), F)
    check_fits(object(), (1 << 40,), F)


def test_what_is_larger_than_memory_is_refused_with_its_form(four_megabytes):
    """The error is NumPy's."""
    with pytest.raises(TensorTooLargeError, match="4,198,400 bytes, there are 4,194,304") as caught:
        check_fits(np, [1025, 1024], F)
    assert (caught.value.shape, caught.value.dtype) == ((1025, 1024), F)


def test_strings_need_room_besides_their_text(four_megabytes):
    """Strings count as many bytes as in TensorFlow, even if all are the same object."""
    with pytest.raises(TensorTooLargeError, match="6,291,456 bytes"):
        check_fits(np, [1 << 18], np.dtype(object))


def test_a_container_says_what_it_may_use(tmp_path):
    """The limit is a number of bytes; "max", or no file, means none."""
    path = tmp_path / "memory.max"
    assert container_limit(path) == 0
    path.write_text("max\n")
    assert container_limit(path) == 0
    path.write_text("1073741824\n")
    assert container_limit(path) == 1 << 30


def test_the_machine_has_memory():
    """The machine's memory is read once."""
    assert host_memory.memory_limit() > 1 << 20


@pytest.mark.parametrize(
    ("make", "shape"),
    [
        (lambda n: tf.fill([n, 2], 1.0), "2000000,2"),
        (lambda n: tf.tile([[1.0, 2.0]], [n, 1]), "2000000,2"),
        (lambda n: tf.broadcast_to([1.0, 2.0], [n, 2]), "2000000,2"),
        (lambda n: tf.pad([[1.0]], [[0, n], [0, 1]]), "2000001,2"),
        (lambda n: tf.one_hot([1, 2], n), "2,2000000"),
        (lambda n: tf.range(0.0, tf.cast(n, tf.float32)), "2000000"),
        (lambda n: tf.raw_ops.LinSpace(start=0.0, stop=1.0, num=n), "2000000"),
        (lambda n: tf.random.normal([n, 2]), "2000000,2"),
        (lambda n: tf.random.uniform([n], maxval=7, dtype=tf.int32), "2000000"),
    ],
)
def test_ops_ask_before_they_make_what_was_asked_for(make, shape, four_megabytes):
    """The error has shape, dtype and device; the session stays usable."""
    with tf.Graph().as_default(), tf.Session() as sess:
        n = tf.placeholder(tf.int32, [])
        size = tf.shape(make(n))
        message = rf"OOM when allocating tensor with shape\[{shape}\] and type (float|int32) on "
        with pytest.raises(tf.errors.ResourceExhaustedError, match=message + "/job:.*CPU:0 by all"):
            sess.run(size, {n: 2_000_000})
        assert sess.run(size, {n: 3})[0] in (2, 3, 4)
