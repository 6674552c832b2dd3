"""Which part of its graph a session sends to the runtime: all of it, or what a run needs."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from google.protobuf import text_format

import tfnb as tf
from tfnb.client.session import sent_graph
from tfnb.core import tensor_proto
from tfnb.framework import exporter
from tfnb.framework.functions.function import Defun

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def sess() -> Iterator[tf.Session]:
    """A session on a graph of the test's own, as the default one."""
    with tf.Graph().as_default(), tf.Session() as sess:
        yield sess


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lower the limit for large graphs to ten operations."""
    monkeypatch.setattr(sent_graph, "MANY", 10)


def has(sess: tf.Session, *names: str) -> list[bool]:
    """Return whether the runtime has nodes of these names."""
    return [sess.runtime.has_node(name) for name in names]


def message(text: str) -> tf.GraphDef:
    """A GraphDef from its text."""
    return text_format.Parse(text, tf.GraphDef())


# -- what is refused -------------------------------------------------------------------------------

BAD_ARGUMENT = """
library { function {
  signature { name: "F"
    input_arg { name: "x" type_attr: "nothing" } output_arg { name: "y" type: DT_FLOAT } }
  node_def { name: "c" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } }
    attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape { } float_val: 1 } } } }
  ret { key: "y" value: "c:output:0" } } }
versions { producer: 24 }
"""
CALL = 'node { name: "call" op: "F" input: "x" }'
NO_FUNCTION = """
node { name: "in" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
node { name: "bad" op: "PartitionedCall" input: "in"
  attr { key: "Tin" value { list { type: DT_FLOAT } } }
  attr { key: "Tout" value { list { type: DT_FLOAT } } }
  attr { key: "f" value { func { name: "is_not_there" } } } }
versions { producer: 24 }
"""


@pytest.mark.parametrize("ran_before", [True, False])
@pytest.mark.parametrize("text", [BAD_ARGUMENT, NO_FUNCTION], ids=["argument", "function"])
def test_a_bad_import_fails_only_what_needs_it(
    sess: tf.Session, text: str, ran_before: bool
) -> None:
    """A malformed function or a call of a missing one does not affect other runs."""
    x = tf.placeholder(tf.float32, [], name="x")
    y = x + 1.0
    if ran_before:
        assert sess.run(y, {x: 1.0}) == 2.0
    with contextlib.suppress(ValueError, tf.errors.OpError):  # said at once is as well
        tf.import_graph_def(message(text), name="")
    assert sess.run(y, {x: 2.0}) == 3.0
    assert sess.run(y * 2.0, {x: 2.0}) == 6.0
    if text is BAD_ARGUMENT:
        with pytest.raises(tf.errors.NotFoundError, match="type attr not found: nothing"):
            tf.import_graph_def(message(text + CALL))
    else:
        for _ in range(2):
            with pytest.raises(tf.errors.OpError, match="is_not_there"):
                sess.run("bad:0", {"in:0": 1.0})
    assert sess.run(y * 3.0, {x: 2.0}) == 9.0
    assert sess.partial_run(sess.partial_run_setup([y - 1.0], [x]), [], {x: 1.0}) == []
    assert sess.make_callable(y / 2.0, [x])(3.0) == 2.0


def test_a_bad_device_fails_only_what_needs_it(sess: tf.Session) -> None:
    """In a session that has run, only runs that need the node fail."""
    v = tf.Variable(3.0)
    sess.run(v.initializer)
    with tf.device("/device:GPU:77"):
        bad = tf.constant(1.0, name="bad")
    for _ in range(2):
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"bad.*GPU:77"):
            sess.run(bad)
        assert sess.run(v) == 3.0
        assert sess.run(v + tf.constant(2.0)) == 5.0
        assert sess.run(v.assign_add(1.0)) == 4.0
        sess.run(v.assign(3.0))


def test_a_bad_device_fails_a_first_run(sess: tf.Session) -> None:
    """The first run places the whole graph, as in TensorFlow."""
    good = tf.constant(1.0)
    with tf.device("/device:GPU:77"):
        tf.constant(1.0, name="bad")
    for _ in range(2):
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"bad.*GPU:77"):
            sess.run(good)


def test_a_variable_stays_where_it_is_beside_a_bad_device() -> None:
    """The variable keeps its device from the placement of the whole graph."""
    config = tf.ConfigProto(device_count={"CPU": 2})
    with tf.Graph().as_default(), tf.Session(config=config) as sess:
        with tf.device("/cpu:1"):
            v = tf.Variable(3.0)
        sess.run(v.initializer)
        with tf.device("/device:GPU:77"):
            tf.constant(1.0)
        metadata = tf.RunMetadata()
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        assert sess.run(v * 2.0, options=options, run_metadata=metadata) == 6.0
        placed = {
            node.node_name: stats.device
            for stats in metadata.step_stats.dev_stats
            for node in stats.node_stats
        }
        assert placed[v.op.name].endswith("CPU:1")


# -- what is needed --------------------------------------------------------------------------------


@pytest.mark.usefixtures("few")
def test_of_a_large_graph_goes_what_a_run_needs(sess: tf.Session) -> None:
    """Other nodes are sent when runs need them, each once."""
    with tf.control_dependencies([tf.no_op("before")]):
        x = tf.placeholder(tf.float32, [], name="x")
    a = tf.identity(x, "a")
    for number in range(30):
        tf.negative(x, name=f"n{number}")
    b = tf.add(a, 1.0, "b")
    assert sess.run(a, {x: 1.0}) == 1.0
    assert has(sess, "before", "x", "a", "b", "n1") == [True, True, True, False, False]
    assert sess.run(b, {x: 1.0}) == 2.0
    assert has(sess, "b", "n1") == [True, False]
    assert sess._sent_graph.num_sent == 5
    assert sess.run("n1:0", {x: 1.0}) == -1.0
    sess._extend_graph()
    assert has(sess, *(f"n{number}" for number in range(30))) == [True] * 30
    assert sess.run("n2:0", {x: 1.0}) == -1.0


@pytest.mark.usefixtures("few")
def test_loops_functions_and_variables_of_a_large_graph_run(sess: tf.Session) -> None:
    """Back edges, called functions with their gradients, and colocation groups are sent as well."""

    @Defun(tf.float32)
    def inner(x: Any) -> Any:
        return x * x

    @Defun(tf.float32)
    def outer(x: Any) -> Any:
        return inner(x) + 1.0

    for number in range(30):
        tf.constant(1.0, name=f"unused{number}")
    count = tf.while_loop(lambda i: i < 5, lambda i: i + 1, [tf.constant(0)])
    v = tf.Variable(2.0, use_resource=True)
    w = tf.Variable(2.0)
    called = outer(v)
    (slope,) = tf.gradients(called, v)
    assert sess.run(count) == 5
    sess.run([v.initializer, w.initializer])
    assert sess.run([called, slope, w.assign_add(1.0)]) == [5.0, 4.0, 3.0]
    assert not any(has(sess, "unused0", "unused29"))


@pytest.mark.usefixtures("few")
def test_what_shares_a_device_goes_along() -> None:
    """With several devices, a colocation group and updates of a reference are sent together."""
    config = tf.ConfigProto(device_count={"CPU": 2}, log_device_placement=False)
    with tf.Graph().as_default(), tf.Session(config=config) as sess:
        for number in range(30):
            tf.constant(1.0, name=f"unused{number}")
        leader = tf.constant(1.0, name="leader")
        with tf.colocate_with(leader), tf.device("/cpu:1"):
            follower = tf.identity(leader, name="follower")
        with tf.colocate_with(leader):
            tf.identity(leader, name="other")
        assert sess.run(leader) == 1.0
        assert has(sess, "follower", "other", "unused1") == [True, True, False]
        assert sess.run(follower) == 1.0


@pytest.mark.usefixtures("few")
def test_a_static_graph_goes_as_a_whole() -> None:
    """A static graph cannot be extended later."""
    config = tf.ConfigProto()
    config.experimental.optimize_for_static_graph = True
    with tf.Graph().as_default(), tf.Session(config=config) as sess:
        made = [tf.constant(float(number)) for number in range(30)]
        assert sess.run(made[3]) == 3.0
        assert sess.run(made[20]) == 20.0


# -- what is large ---------------------------------------------------------------------------------


def test_a_constant_that_no_message_holds_is_refused_at_once(
    sess: tf.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A constant that no message can hold is refused, and the graph stays usable."""
    monkeypatch.setattr(tensor_proto, "MAX_CONTENT_BYTES", 1000)
    large = np.zeros(250, np.float32)
    for make in (tf.constant, tf.identity, tf.convert_to_tensor):
        with pytest.raises(ValueError, match="larger than 2GB"):
            make(large)
    with pytest.raises(ValueError, match="larger than 2GB"):
        tf.constant(large, shape=[25, 10])
    assert not sess.graph.get_operations()
    assert sess.run(tf.zeros([1000]) + 1.0).sum() == 1000.0
    assert sess.run(tf.constant(0.0, shape=[10**6])).shape == (10**6,)


def test_constants_of_more_than_a_file_holds_run(
    sess: tf.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Constants beyond 2 GB run in one process.

    Writing the graph names those that are too large.
    """
    monkeypatch.setattr(exporter, "MAX_GRAPH_DEF_BYTES", 1000)
    one, two = (
        tf.constant(np.ones(150, np.float32)),
        tf.constant(np.ones(120, np.float32), name="b"),
    )
    assert sess.run(tf.reduce_sum(one)) == 150.0
    assert sess.run(tf.reduce_sum(two)) == 120.0
    with pytest.raises(ValueError, match=r"larger than 2GB.*'Const' .*, 'b' \(\d+ bytes\)"):
        sess.graph.as_graph_def()
    assert sess.run(tf.reduce_sum(one) + 1.0) == 151.0
