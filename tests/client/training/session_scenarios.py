"""Training sessions of either library: the graphs they finalize and the events they write."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any


def _model(tf: Any) -> Any:
    step = tf.train.get_or_create_global_step()
    weights = tf.get_variable("w", [2], initializer=tf.ones_initializer())
    loss = tf.reduce_sum(tf.square(weights), name="loss")
    tf.summary.scalar("loss", loss)
    return tf.assign_add(step, 1, name="train")


def _nothing(tf: Any, folder: str) -> Any:
    _model(tf)
    return tf.train.MonitoredTrainingSession()


def _everything(tf: Any, folder: str) -> Any:
    _model(tf)
    return tf.train.MonitoredTrainingSession(
        checkpoint_dir=folder,
        hooks=[tf.train.StopAtStepHook(num_steps=4)],
        save_checkpoint_steps=2,
        save_summaries_steps=2,
        log_step_count_steps=2,
    )


def _local_things(tf: Any, folder: str) -> Any:
    _model(tf)
    tf.metrics.mean([1.0, 2.0])
    tf.train.range_input_producer(3)
    return tf.train.MonitoredSession()


def _resource_step(tf: Any, folder: str) -> Any:
    with tf.variable_scope("", use_resource=True):
        _model(tf)
    return tf.train.MonitoredTrainingSession(checkpoint_dir=folder)


SESSIONS = {
    "nothing": _nothing,
    "everything": _everything,
    "local things": _local_things,
    "resource step": _resource_step,
}


def _supervised(tf: Any, folder: str) -> Any:
    _model(tf)
    tf.train.Supervisor(logdir=folder)


def graph_of(tf: Any, name: str) -> list[str]:
    """The nodes of the graph once the session is open."""
    with tempfile.TemporaryDirectory() as folder, tf.Graph().as_default() as graph:
        if name == "supervisor":
            _supervised(tf, folder)
        else:
            SESSIONS[name](tf, folder).close()
        tf.summary.FileWriterCache.clear()
        return [f"{n.name} {n.op}({', '.join(n.input)})" for n in graph.as_graph_def().node]


def files_of(tf: Any) -> dict[str, Any]:
    """Return what a training of four steps writes: names of files, steps and kinds of events."""
    with tempfile.TemporaryDirectory() as folder, tf.Graph().as_default() as graph:
        with _everything(tf, folder) as sess:
            op = graph.get_operation_by_name("train")
            while not sess.should_stop():
                sess.run(op)
        tf.summary.FileWriterCache.clear()
        paths = sorted(Path(folder).iterdir())
        events = [
            [event.step, event.WhichOneof("what"), [value.tag for value in event.summary.value]]
            for path in paths
            if path.name.startswith("events")
            for event in tf.train.summary_iterator(str(path))
        ]
        names = [path.name for path in paths if not path.name.startswith("events")]
        return {"files": names, "events": events}
