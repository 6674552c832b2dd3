"""Callables on servers: tensors that are connected, and what is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tfnb as tf
from tfnb.proto.config_pb2 import CallableOptions

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tests.distributed_runtime.clusters import Cluster

JOBS = {"worker": 2}
FIRST, SECOND = (f"/job:worker/replica:0/task:{index}/device:CPU:0" for index in (0, 1))


@pytest.fixture
def sess(cluster: Cluster) -> Iterator[tf.Session]:
    """A session whose graph is on both."""
    with tf.Graph().as_default():
        with tf.device(SECOND):
            x = tf.placeholder(tf.float32, [2], name="x")
            doubled = tf.multiply(x, 2.0, name="doubled")
        with tf.device(FIRST):
            tf.add(doubled, 1.0, name="more")
            c = tf.placeholder_with_default([7.0, 7.0], [2], name="c")
            tf.multiply(c, 10.0, name="tens")
        with tf.Session(cluster.target()) as made:
            yield made


def call(
    sess: tf.Session,
    fetch: Sequence[str] = ("more:0",),
    connect: Mapping[str, str] | None = None,
    num_calls: int = 1,
) -> list[Any]:
    """Make a callable that is fed x, and call it with [1, 2]."""
    options = CallableOptions(feed=["x:0"], fetch=fetch)
    for source, to in (connect or {}).items():
        options.tensor_connection.add(from_tensor=source, to_tensor=to)
    prepared = sess._make_callable_from_options(options)
    found = [prepared(np.float32([1, 2])) for _ in range(num_calls)]
    return [one.tolist() for one in found[-1]]


def test_consumers_of_a_tensor_get_the_one_that_is_connected(sess: tf.Session) -> None:
    """Also across tasks; other callables and steps of the session are as before."""
    assert call(sess, ["tens:0"], {"doubled:0": "c:0"}, num_calls=2) == [[20.0, 40.0]]
    assert call(sess, ["tens:0", "doubled:0"], {"more:0": "c:0"}) == [[30.0, 50.0], [2.0, 4.0]]
    assert call(sess, ["tens:0"]) == [[70.0, 70.0]]
    assert sess.run("tens:0").tolist() == [70.0, 70.0]


@pytest.mark.parametrize(
    ("connect", "kind", "message"),
    [
        ({"more:0": "x:0"}, tf.errors.InvalidArgumentError, "fed more than once"),
        ({"zz:0": "c:0"}, tf.errors.InvalidArgumentError, "unknown node"),
        ({"doubled:0": "zz:0"}, tf.errors.NotFoundError, "unable to find feed output"),
    ],
)
def test_a_connection_that_does_not_fit_is_refused(
    sess: tf.Session, connect: dict[str, str], kind: type[Exception], message: str
) -> None:
    """When the callable is made."""
    with pytest.raises(kind, match=message):
        call(sess, ["tens:0"], connect)


@pytest.mark.parametrize("field", ["feed_devices", "fetch_devices"])
def test_feeds_and_fetches_in_the_memory_of_devices_are_refused(
    sess: tf.Session, field: str
) -> None:
    """As by TensorFlow's servers: they travel through the client's memory anyway."""
    options = CallableOptions(feed=["x:0"], fetch=["doubled:0"], fetch_skip_sync=True)
    name = "x:0" if field == "feed_devices" else "doubled:0"
    getattr(options, field)[name] = SECOND
    with pytest.raises(tf.errors.UnimplementedError, match="when using a remote session"):
        sess._make_callable_from_options(options)


def test_another_number_of_feeds_is_refused(cluster: Cluster, sess: tf.Session) -> None:
    """By the master as well, for clients of other libraries."""
    sess.run("tens:0")
    (session,) = cluster.servers["worker", 0]._server.master._sessions.values()
    handle = session.make_callable(CallableOptions(feed=["x:0"], fetch=["more:0"]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="takes 1 feeds, but 0 were sent"):
        session.run_callable(handle, [])
    session.release_callable(handle)
    with pytest.raises(tf.errors.InvalidArgumentError, match="No such callable handle"):
        session.run_callable(handle, [])
