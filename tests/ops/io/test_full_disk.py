"""Saving on a full disk, killed saves, and concurrent saves."""

from __future__ import annotations

import errno
import os
import resource
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tfnb as tf
from tests.forked import in_child
from tfnb.core import dtypes
from tfnb.core.files import file_system
from tfnb.core.files.tensor_bundle import BundleReader, BundleWriter

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """Limit the size of files of this process."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.fixture
def sess() -> Iterator[tf.Session]:
    """A session with a variable of four megabytes and a small one."""
    with tf.Graph().as_default(), tf.Session() as session:
        tf.get_variable("v", [1 << 20], initializer=tf.ones_initializer())
        tf.get_variable("w", [], initializer=tf.zeros_initializer())
        session.run(tf.global_variables_initializer())
        yield session


@pytest.mark.parametrize(
    ("options", "file"),
    [
        ({}, "m.data-00000-of-00001"),
        ({"sharded": True}, "m_temp/part-00000-of-00001.data-00000-of-00001"),
        ({"write_version": 1}, "m"),
    ],
)
def test_a_save_without_room_names_the_file(
    sess: tf.Session, tmp_path: Path, options: dict[str, Any], file: str
) -> None:
    """The error's class is TensorFlow's; the earlier checkpoint stays, and no other file."""
    saver = tf.train.Saver(**options)
    path = str(tmp_path / "m")
    saver.save(sess, path, write_meta_graph=False)
    before = {one.name: one.stat().st_mtime_ns for one in tmp_path.iterdir()}
    with (
        largest_file(100_000),
        pytest.raises(tf.errors.OutOfRangeError, match=f"{tmp_path}/{file}; File too large"),
    ):
        saver.save(sess, path, write_meta_graph=False)
    assert {one.name: one.stat().st_mtime_ns for one in tmp_path.iterdir()} == before
    saver.restore(sess, path)


def test_a_full_disk_is_exhausted(tmp_path: Path) -> None:
    """The error is the same whether the disk is full while adding tensors or at the end."""
    for size in (1 << 20, 1):
        writer = BundleWriter(str(tmp_path / "m"))
        writer._file.close()
        writer._file = open("/dev/full", "wb")  # noqa: SIM115 - the writer closes it

        def save(writer: BundleWriter = writer, size: int = size) -> None:
            writer.add("v", np.zeros(size, np.float32), dtypes.float32)
            writer.finish()

        wanted = r"/m\.data-00000-of-00001; No space left"
        with pytest.raises(tf.errors.ResourceExhaustedError, match=wanted):
            save()
        writer.abandon()
        assert not list(tmp_path.iterdir())
    error = file_system.error_from_os(OSError(errno.ENOSPC, ""), "x")
    assert isinstance(error, tf.errors.ResourceExhaustedError)


def test_a_cache_without_room_is_no_end_of_the_data(tmp_path: Path) -> None:
    """The error names the file, every time, and no file is left."""
    with tf.Graph().as_default(), tf.Session() as session:
        elements = tf.data.Dataset.range(3).map(lambda i: tf.fill([1 << 20], i))
        cached = elements.cache(str(tmp_path / "c"))
        element = tf.data.make_one_shot_iterator(cached).get_next()
        with largest_file(100_000):
            for _ in range(2):
                with pytest.raises(tf.errors.InternalError, match=r"/c\.data-.*; File too large"):
                    session.run(element)
        assert not list(tmp_path.iterdir())


def _killed_while_saving(prefix: str) -> None:
    """Leave the files of a process that was killed in the middle of a save."""

    def save() -> None:
        writer = BundleWriter(prefix)
        writer.add("v", np.zeros(1 << 20, np.float32), dtypes.float32)
        os._exit(0)

    in_child(save)


def test_the_next_save_removes_what_a_killed_one_left(sess: tf.Session, tmp_path: Path) -> None:
    """Files of any step are removed; small files only if they are old enough."""
    path = str(tmp_path / "m")
    for left in ("m", "m-5", "m-7_temp/part-00000-of-00002"):
        _killed_while_saving(str(tmp_path / left))
    old = tmp_path / "m-5.index.tempstate123"
    old.write_bytes(b"")
    os.utime(old, (0, 0))
    assert len(list(tmp_path.rglob("*.tempstate*"))) == 4
    tf.train.Saver().save(sess, path, global_step=8)
    assert sorted(one.name for one in tmp_path.iterdir()) == [
        "checkpoint",
        "m-8.data-00000-of-00001",
        "m-8.index",
        "m-8.meta",
    ]


def test_what_others_are_writing_stays(sess: tf.Session, tmp_path: Path) -> None:
    """A save in progress, files with other names, and new small files stay."""
    writing = BundleWriter(str(tmp_path / "m-9"))
    writing.add("v", np.float32(3), dtypes.float32)
    others = ["m2.data-00000-of-00001.tempstate1", "m.index.tempstate2", "m-1_temporary"]
    for name in others:
        (tmp_path / name).write_bytes(b"")
    tf.train.Saver().save(sess, str(tmp_path / "m"), write_meta_graph=False)
    names = {one.name for one in tmp_path.iterdir()}
    assert names >= set(others)
    assert any(name.startswith("m-9.data-00000-of-00001.tempstate") for name in names)
    writing.finish()
    with BundleReader(str(tmp_path / "m-9")) as reader:
        assert reader.lookup("v") == 3.0


def test_a_sharded_save_that_fails_leaves_no_folder(sess: tf.Session, tmp_path: Path) -> None:
    """The temporary folder for the parts is removed."""
    saver = tf.train.Saver(sharded=True)
    with largest_file(100_000), pytest.raises(tf.errors.OutOfRangeError):
        saver.save(sess, str(tmp_path / "m"))
    assert not list(tmp_path.iterdir())


def test_two_threads_may_save_under_one_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second one begins while the first renames its files; both succeed in turn."""
    prefix = str(tmp_path / "m")
    errors: list[BaseException] = []
    threads: list[threading.Thread] = []

    def save(number: int) -> None:
        try:
            writer = BundleWriter(prefix)
            writer.add("v", np.full(9, number, np.float32), dtypes.float32)
            writer.finish()
        except BaseException as error:
            errors.append(error)

    save(0)
    link = os.link

    def linking(*names: Any, **options: Any) -> None:
        link(*names, **options)
        if not threads:
            threads.append(threading.Thread(target=save, args=(2,)))
            threads[0].start()
            threads[0].join(0.1)  # it is over by then, or waits

    monkeypatch.setattr(os, "link", linking)
    save(1)
    threads[0].join(60)
    assert not errors
    assert sorted(os.listdir(tmp_path)) == ["m.data-00000-of-00001", "m.index"]
    with BundleReader(prefix) as reader:
        assert reader.lookup("v").tolist() == [2.0] * 9
