"""``tf.summary.FileWriter``: contents of its files, and when they are written."""

from __future__ import annotations

import base64
import gc
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import tfnb as tf

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "event_files.json").read_text())


def events(directory: Path) -> list[Any]:
    """The events in all files of a directory, oldest file first."""
    return [
        event for path in sorted(directory.iterdir()) for event in tf.train.summary_iterator(path)
    ]


def kinds(directory: Path) -> list[tuple[int, str | None]]:
    """Step and kind of each event."""
    return [(event.step, event.WhichOneof("what")) for event in events(directory)]


def number(tag: str, value: float) -> tf.Summary:
    """A summary of one number."""
    return tf.Summary(value=[tf.Summary.Value(tag=tag, simple_value=value)])


def test_events_of_tensorflow_are_read(tmp_path: Path) -> None:
    """Events in a file of TensorFlow have the steps and kinds that were added."""
    (tmp_path / "file").write_bytes(base64.b64decode(GOLDEN["events"]))
    assert kinds(tmp_path) == [(entry[0], entry[1]) for entry in GOLDEN["outline"]]


def test_the_file_begins_with_its_version(tmp_path: Path) -> None:
    """The file name and the first event are those that TensorBoard expects."""
    with tf.summary.FileWriter(tmp_path, filename_suffix=".end") as writer:
        writer.add_summary(number("a", 1), 1)
    (path,) = tmp_path.iterdir()
    assert path.name.startswith("events.out.tfevents.")
    assert path.name.endswith(".end")
    first = events(tmp_path)[0]
    assert first.file_version == "brain.Event:2"


def test_nothing_is_written_before_the_first_event(tmp_path: Path) -> None:
    """An unused writer makes a directory and no file."""
    writer = tf.summary.FileWriter(tmp_path / "new" / "deep")
    writer.flush()
    writer.close()
    assert os.listdir(tmp_path / "new" / "deep") == []


def test_flushed_events_are_seen(tmp_path: Path) -> None:
    """After flush a reader sees the events, while the writer is open."""
    writer = tf.summary.FileWriter(tmp_path)
    writer.add_summary(number("a", 1), 1)
    writer.add_summary(number("a", 2).SerializeToString(), 2)
    writer.flush()
    assert kinds(tmp_path) == [(0, "file_version"), (1, "summary"), (2, "summary")]
    writer.close()


def test_more_events_than_the_queue_holds_all_arrive_in_order(tmp_path: Path) -> None:
    """Adding to a full queue waits; no event is lost."""
    with tf.summary.FileWriter(tmp_path, max_queue=2) as writer:
        for step in range(200):
            writer.add_summary(number("a", step), step)
    assert [event.step for event in events(tmp_path)[1:]] == list(range(200))


def test_a_graph_comes_as_graph_and_meta_graph(tmp_path: Path) -> None:
    """The graphs contain shapes, so that viewers show them."""
    with tf.Graph().as_default() as graph:
        tf.placeholder(tf.float32, [2, 3], name="x")
    with tf.summary.FileWriter(tmp_path, graph):
        pass
    assert kinds(tmp_path)[1:] == [(0, "graph_def"), (0, "meta_graph_def")]
    meta_graph = tf.MetaGraphDef.FromString(events(tmp_path)[2].meta_graph_def)
    assert [op.name for op in meta_graph.meta_info_def.stripped_op_list.op] == ["Placeholder"]
    node = tf.GraphDef.FromString(events(tmp_path)[1].graph_def).node[0]
    assert node.name == "x"
    assert "_output_shapes" in node.attr


def test_what_describes_a_tag_is_stored_once(tmp_path: Path) -> None:
    """Only the first value of a tag has metadata; the caller's message is not changed."""
    summary = number("a", 1)
    summary.value[0].metadata.display_name = "A"
    with tf.summary.FileWriter(tmp_path) as writer:
        writer.add_summary(summary, 1)
        writer.add_summary(summary, 2)
    _, first, second = events(tmp_path)
    assert first.summary.value[0].metadata.display_name == "A"
    assert not second.summary.value[0].HasField("metadata")
    assert summary.value[0].metadata.display_name == "A"


def test_a_closed_writer_warns_and_writes_nothing(tmp_path: Path) -> None:
    """Closing twice is harmless; adding afterwards warns; reopening begins a new file."""
    writer = tf.summary.FileWriter(tmp_path)
    writer.add_summary(number("a", 1), 1)
    writer.close()
    writer.close()
    with pytest.warns(UserWarning, match="closed FileWriter"):
        writer.add_summary(number("a", 2), 2)
    writer.reopen()
    writer.add_summary(number("a", 3), 3)
    writer.close()
    assert len(list(tmp_path.iterdir())) == 2
    assert [event.step for event in events(tmp_path)] == [0, 1, 0, 3]


def test_other_kinds_of_events(tmp_path: Path) -> None:
    """Session logs, run metadata, meta graphs and raw events are written."""
    with tf.summary.FileWriter(tmp_path) as writer:
        writer.add_session_log(tf.SessionLog(status=tf.SessionLog.START), 1)
        writer.add_run_metadata(tf.RunMetadata(), "run", 2)
        with pytest.raises(ValueError, match="tag was already used"):
            writer.add_run_metadata(tf.RunMetadata(), "run", 3)
        writer.add_meta_graph(tf.MetaGraphDef(), 4)
        with pytest.raises(TypeError, match="must be type MetaGraphDef"):
            writer.add_meta_graph(tf.GraphDef())  # type: ignore[arg-type]
        writer.add_event(tf.Event(step=5))
        assert writer.get_logdir() == str(tmp_path)
    assert kinds(tmp_path)[1:] == [
        (1, "session_log"), (2, "tagged_run_metadata"), (4, "meta_graph_def"), (5, None),
    ]  # fmt: skip


def test_what_is_no_graph_is_refused(tmp_path: Path) -> None:
    """The message names the type of the argument."""
    with tf.summary.FileWriter(tmp_path) as writer:
        with pytest.raises(TypeError, match=r"must be an instance of `Graph`.*not str"):
            writer.add_graph("graph")
        with pytest.raises(ValueError, match="not both"):
            writer.add_graph(tf.Graph(), graph_def=tf.GraphDef())


def test_a_forgotten_writer_writes_its_events(tmp_path: Path) -> None:
    """A collected writer writes its remaining events."""
    writer = tf.summary.FileWriter(tmp_path)
    writer.add_summary(number("a", 1), 1)
    del writer
    gc.collect()
    assert kinds(tmp_path) == [(0, "file_version"), (1, "summary")]


@pytest.mark.slow
def test_the_end_of_the_program_writes_the_events(tmp_path: Path) -> None:
    """Events are written at exit without close."""
    program = (
        "import sys, tfnb as tf\n"
        "writer = tf.summary.FileWriter(sys.argv[1])\n"
        "writer.add_summary(tf.Summary(value=[tf.Summary.Value(tag='a', simple_value=1)]), 7)\n"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=True, timeout=280)
    assert kinds(tmp_path) == [(0, "file_version"), (7, "summary")]


def test_a_failure_of_the_thread_reaches_the_caller(tmp_path: Path) -> None:
    """If the directory vanishes, the next flush raises an error."""
    directory = tmp_path / "gone"
    writer = tf.summary.FileWriter(directory)
    directory.rmdir()
    writer.add_summary(number("a", 1), 1)
    with pytest.raises(tf.errors.NotFoundError, match="gone"):
        writer.flush()
    with pytest.raises(tf.errors.NotFoundError, match="gone"):
        writer.close()


def test_the_cache_keeps_one_writer_for_each_directory(tmp_path: Path) -> None:
    """The cache keeps a writer until it is cleared."""
    with tf.Graph().as_default():
        one = tf.summary.FileWriterCache.get(str(tmp_path / "one"))
        assert tf.summary.FileWriterCache.get(str(tmp_path / "one")) is one
        assert tf.summary.FileWriterCache.get(str(tmp_path / "two")) is not one
        tf.summary.FileWriterCache.clear()
        assert tf.summary.FileWriterCache.get(str(tmp_path / "one")) is not one
        tf.summary.FileWriterCache.clear()


def test_initialize_says_that_there_is_nothing_to_do() -> None:
    """The message is TensorFlow's for a graph without such a writer."""
    with pytest.raises(RuntimeError, match=r"No default .*SummaryWriter found"):
        tf.summary.initialize()
