"""Observers receive the outputs of nodes, with or without other observers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tfnb as tf
from tfnb.core.step_events import StepObserver

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class Listener(StepObserver):
    """Records the order of events: (node, sizes of outputs), and ids of finished nodes."""

    def __init__(self) -> None:
        self.told: list[tuple[str, Any]] = []
        self.names: tuple[str, ...] = ()

    def graph_partitioned(self, partitioned: Any) -> None:
        """Read the names."""
        self.names = partitioned.partitions[0].node_names

    def tensors_made(
        self, step_id: int, partition: int, node_id: int, outputs: Sequence[Any]
    ) -> None:
        """Record the sizes."""
        sizes = [getattr(value, "nbytes", None) for value in outputs]
        self.told.append((self.names[node_id], sizes))

    def node_done(
        self, step_id: int, partition: int, node_id: int, frame_id: int, iteration: int,
        t_ns: int, is_dead: bool,
    ) -> None:  # fmt: skip
        """Record the end."""
        self.told.append((self.names[node_id], "dead" if is_dead else "done"))


@pytest.fixture
def told() -> Iterator[tuple[Any, Listener]]:
    """A session with an observer; its graph has a cond."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [8], name="x")
        tf.cond(x[0] > 0, lambda: tf.exp(x, name="taken"), lambda: tf.negative(x, name="left"))
        tf.concat([x, x], 0, name="wide")
    with tf.Session(graph=graph) as session:
        listener = Listener()
        session.runtime.step_events.add(listener)
        yield session, listener


def test_outputs_are_told_just_before_their_node_is_done(told: tuple[Any, Listener]) -> None:
    """Every live node is reported, and no dead one."""
    session, listener = told
    session.run(["cond/Merge:0", "wide:0"], {"x:0": np.ones(8, np.float32)})
    sizes = {name: what for name, what in listener.told if isinstance(what, list)}
    assert sizes["wide"] == [64]
    assert sizes["cond/taken"] == [32]
    assert "cond/left" not in sizes
    assert ("cond/left", "dead") in listener.told
    for (name, what), following in zip(listener.told, listener.told[1:]):
        if isinstance(what, list):
            assert following == (name, "done")


def test_a_trace_of_the_same_step_misses_nothing(told: tuple[Any, Listener]) -> None:
    """Both observers receive all outputs."""
    session, listener = told
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    metadata = tf.RunMetadata()
    session.run("wide:0", {"x:0": np.ones(8, np.float32)}, options, metadata)
    assert ("wide", [64]) in listener.told
    (wide,) = [
        node
        for device in metadata.step_stats.dev_stats
        for node in device.node_stats
        if node.node_name == "wide"
    ]
    assert wide.output[0].tensor_description.allocation_description.requested_bytes == 64


def test_observers_without_the_hook_receive_no_outputs(told: tuple[Any, Listener]) -> None:
    """Without this hook no outputs are reported; after removal steps are as before."""
    session, listener = told
    session.runtime.step_events.remove(listener)
    session.run("wide:0", {"x:0": np.ones(8, np.float32)})
    assert listener.told == []
    assert session.runtime.step_events.hooks.tensors_made is None


def test_a_partial_run_tells_too(told: tuple[Any, Listener]) -> None:
    """Outputs are reported as soon as a node has run."""
    session, listener = told
    handle = session.partial_run_setup(["wide:0"], ["x:0"])
    session.partial_run(handle, "wide:0", {"x:0": np.ones(8, np.float32)})
    assert ("wide", [64]) in listener.told
