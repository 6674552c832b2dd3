"""Ops that write event files: contents and errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tfnb as tf

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

raw = tf.raw_ops


@pytest.fixture
def sess() -> Iterator[tf.Session]:
    """A session on a graph of its own."""
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def _writer(folder: Path, **names: Any) -> tuple[Any, Any]:
    writer = raw.SummaryWriter(**names)
    create = raw.CreateSummaryFileWriter(
        writer=writer, logdir=str(folder), max_queue=10, flush_millis=10**6, filename_suffix=".v2"
    )
    return writer, create


def _events(folder: Path) -> list[Any]:
    (path,) = folder.iterdir()
    assert path.name.endswith(".v2")
    return list(tf.train.summary_iterator(str(path)))


def test_summaries_are_in_the_file(sess: tf.Session, tmp_path: Path) -> None:
    """After a flush every kind is there, with step and tag."""
    writer, create = _writer(tmp_path / "logs")
    metadata = tf.SummaryMetadata(plugin_data={"plugin_name": "mine"}).SerializeToString()
    text = tf.summary.scalar("inner", 5.0)
    event = tf.Event(step=99, wall_time=3.0)
    where: dict[str, Any] = {"writer": writer, "step": tf.constant(7, tf.int64)}
    writes = [
        raw.WriteScalarSummary(**where, tag="loss", value=2.5),
        raw.WriteHistogramSummary(**where, tag="weights", values=[1.0, 2.0]),
        raw.WriteImageSummary(
            **where, tag="picture", tensor=tf.zeros([1, 2, 2, 1]),
            bad_color=np.array([255, 0, 0, 255], np.uint8), max_images=1,
        ),
        raw.WriteAudioSummary(
            **where, tag="sound", tensor=tf.zeros([1, 8]), sample_rate=8000.0, max_outputs=1
        ),
        raw.WriteSummary(**where, tensor=[[1, 2]], tag="raw", summary_metadata=metadata),
        raw.WriteSummary(**where, tensor=["a"], tag="text", summary_metadata=""),
        raw.WriteRawProtoSummary(**where, tensor=tf.stack([text, text])),
        raw.WriteGraphSummary(**where, tensor=tf.GraphDef().SerializeToString()),
        raw.ImportEvent(writer=writer, event=event.SerializeToString()),
    ]  # fmt: skip
    sess.run(create)
    for write in writes:
        sess.run(write)
    sess.run(raw.FlushSummaryWriter(writer=writer))
    first, *found = _events(tmp_path / "logs")
    assert first.file_version == "brain.Event:2"
    assert [e.step for e in found] == [7] * 8 + [99]
    values = [v for e in found for v in e.summary.value]
    tags = "loss weights picture/image sound/audio raw text inner inner"
    assert [v.tag for v in values] == tags.split()
    assert values[0].simple_value == 2.5
    assert values[1].histo.num == 2
    assert tf.make_ndarray(values[4].tensor).tolist() == [[1, 2]]
    assert values[4].metadata.plugin_data.plugin_name == "mine"
    assert values[5].tensor.string_val == [b"a"]
    assert (found[-1].wall_time, found[0].wall_time > 1e9) == (3.0, True)
    sess.run(raw.CloseSummaryWriter(writer=writer))
    with pytest.raises(tf.errors.FailedPreconditionError, match="CreateSummaryFileWriter"):
        sess.run(writes[0])


def test_a_full_queue_is_written(sess: tf.Session, tmp_path: Path) -> None:
    """Events beyond the queue's size are written without a flush."""
    writer, create = _writer(tmp_path)
    write = raw.WriteScalarSummary(writer=writer, step=tf.constant(1, tf.int64), tag="x", value=1.0)
    sess.run(create)
    sess.run(create)
    for _ in range(12):
        sess.run(write)
    assert len(_events(tmp_path)) >= 12


def test_two_nodes_share_a_writer(sess: tf.Session, tmp_path: Path) -> None:
    """Writers with equal shared names are one."""
    one, create = _writer(tmp_path, shared_name="mine")
    other = raw.SummaryWriter(shared_name="mine")
    step = tf.constant(1, tf.int64)
    sess.run(create)
    sess.run(raw.WriteScalarSummary(writer=other, step=step, tag="x", value=1))
    sess.run(raw.CloseSummaryWriter(writer=one))
    assert [v.tag for e in _events(tmp_path) for v in e.summary.value] == ["x"]


def test_what_cannot_be_written_is_refused(sess: tf.Session, tmp_path: Path) -> None:
    """An invalid file, message or scalar is refused."""
    writer, create = _writer(tmp_path)
    step = tf.constant(1, tf.int64)
    write = raw.WriteScalarSummary(writer=writer, step=step, tag="x", value=1.0)
    with pytest.raises(tf.errors.FailedPreconditionError, match="CreateSummaryFileWriter"):
        sess.run(write)
    sess.run(create)
    with pytest.raises(tf.errors.InvalidArgumentError, match="must be a scalar"):
        sess.run(raw.WriteScalarSummary(writer=writer, step=step, tag="x", value=[1.0]))
    nan = raw.WriteHistogramSummary(writer=writer, step=step, tag="x", values=[np.float32("nan")])
    with pytest.raises(tf.errors.InvalidArgumentError, match="Nan in summary histogram"):
        sess.run(nan)
    for bad in (
        raw.ImportEvent(writer=writer, event=b"\xff\xff"),
        raw.WriteRawProtoSummary(writer=writer, step=step, tensor=b"\xff\xff"),
    ):
        with pytest.raises(tf.errors.DataLossError, match="not a valid message"):
            sess.run(bad)
    sess.run(write)


def test_a_graph_from_a_file_may_not_write(tmp_path: Path) -> None:
    """A loaded graph needs permission."""
    with tf.Graph().as_default() as built:
        _, create = _writer(tmp_path / "logs")
    with tf.Graph().as_default() as graph, tf.Session() as session:
        tf.import_graph_def(built.as_graph_def(), name="")
        with pytest.raises(tf.errors.PermissionDeniedError):
            session.run(graph.get_operation_by_name(create.name))
    assert not (tmp_path / "logs").exists()
