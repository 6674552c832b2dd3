"""Lifecycle, default stacks, and what stays with a session."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from tests.client.behaviours.writing import behaviour


def _in_thread(work: Any) -> Any:
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(work()))
    thread.start()
    thread.join()
    return found[0]


@behaviour(4, "The Session graph is empty.")
def run_without_ops(tf: Any) -> Any:
    return tf.Session().run([])


@behaviour(5, "Attempted to use a closed Session.")
def run_after_close(tf: Any) -> Any:
    one = tf.constant(1)
    sess = tf.Session()
    sess.close()
    return sess.run(one)


@behaviour(6, "Session has been closed.")
def callable_after_close(tf: Any) -> Any:
    sess = tf.Session()
    call = sess.make_callable(tf.constant(1))
    sess.close()
    return call()


@behaviour(7)
def close_again(tf: Any) -> Any:
    sess = tf.Session()
    return sess.close(), sess.close()


def _ends_with(tf: Any, wait: Any, started: threading.Event, sess: Any) -> list[str]:
    """Return class and text of the error of a blocked run when its session is closed."""
    found: list[str] = []

    def run() -> None:
        try:
            sess.run(wait)
        except tf.errors.OpError as error:
            found.append(type(error).__name__)
            found.extend(
                words
                for words in ("Dequeue operation was cancelled", "Enqueue operation was cancelled")
                if words in str(error)
            )

    thread = threading.Thread(target=run)
    thread.start()
    assert started.wait(60)
    waiting = getattr(sess, "waiting", lambda: "waits for")  # TensorFlow does not tell
    for _ in range(30_000):
        if "waits for" in str(waiting()):
            break
        thread.join(0.001)
    sess.close()
    thread.join(60)
    return found


def _start_signal(tf: Any) -> tuple[Any, threading.Event]:
    started = threading.Event()

    def tell() -> Any:
        started.set()
        return np.float32(1)

    return tf.py_func(tell, [], tf.float32), started


@behaviour(8)
def close_ends_a_blocked_dequeue(tf: Any) -> Any:
    signal, started = _start_signal(tf)
    with tf.control_dependencies([signal]):
        wait = tf.FIFOQueue(1, tf.float32).dequeue()
    return _ends_with(tf, wait, started, tf.Session())


@behaviour(8)
def close_ends_a_blocked_enqueue(tf: Any) -> Any:
    queue = tf.FIFOQueue(1, tf.float32)
    fill = queue.enqueue(1.0)
    signal, started = _start_signal(tf)
    with tf.control_dependencies([signal]):
        wait = queue.enqueue(2.0)
    sess = tf.Session()
    sess.run(fill)
    return _ends_with(tf, wait, started, sess)


@behaviour(10, "Attempted to use a closed Session.")
def leaving_the_block_closes(tf: Any) -> Any:
    one = tf.constant(1)
    with tf.Session() as sess:
        pass
    return sess.run(one)


@behaviour(10)
def leaving_as_default_does_not_close(tf: Any) -> Any:
    one = tf.constant(1)
    sess = tf.Session()
    with sess.as_default():
        pass
    return sess.run(one)


@behaviour(11)
def which_way_in_sets_the_graph(tf: Any) -> Any:
    graph = tf.Graph()
    sess = tf.Session(graph=graph)
    with sess.as_default():
        by_as_default = tf.get_default_graph() is graph
    with sess:
        return by_as_default, tf.get_default_graph() is graph


@behaviour(12, "not re-entrant")
def entering_twice(tf: Any) -> Any:
    with tf.Session() as sess, sess:
        pass


@behaviour(12)
def as_default_may_nest(tf: Any) -> Any:
    sess = tf.Session()
    with sess.as_default(), sess.as_default():
        return tf.get_default_session() is sess


@behaviour(14)
def interactive_sessions_stack(tf: Any) -> Any:
    graph = tf.Graph()
    first = tf.InteractiveSession(graph=graph)
    second = tf.InteractiveSession(graph=graph)
    innermost = tf.get_default_session() is second
    second.close()
    outer = tf.get_default_session() is first, tf.get_default_graph() is graph
    first.close()
    return innermost, outer, tf.get_default_session() is None


@behaviour(15)
def the_default_session_is_the_threads(tf: Any) -> Any:
    with tf.Session().as_default():
        return _in_thread(lambda: tf.get_default_session() is None)


@behaviour(16)
def the_default_graph_is_the_threads(tf: Any) -> Any:
    graph = tf.Graph()
    with graph.as_default():
        return _in_thread(lambda: tf.get_default_graph() is graph)


@behaviour(17, "No default session is registered.")
def eval_without_a_session(tf: Any) -> Any:
    return tf.constant(1).eval()


@behaviour(17, "No default session is registered.")
def run_of_an_op_without_a_session(tf: Any) -> Any:
    return tf.no_op().run()


@behaviour(18, "the tensor's graph is different from the session's graph")
def eval_in_a_session_of_another_graph(tf: Any) -> Any:
    sess = tf.Session()
    with tf.Graph().as_default():
        one = tf.constant(1)
        with sess.as_default():
            return one.eval()


@behaviour(19, 'Did you do "Session(config)" instead of "Session(config=config)"?')
def a_config_as_target(tf: Any) -> Any:
    return tf.Session(tf.ConfigProto())


@behaviour(19, "Argument `graph` must be a tf.Graph")
def a_number_as_graph(tf: Any) -> Any:
    return tf.Session(graph=3)


@behaviour(19, "Argument `config` must be a tf.ConfigProto")
def a_number_as_config(tf: Any) -> Any:
    return tf.Session(config=3)


@behaviour(20)
def sessions_keep_variables_apart(tf: Any) -> Any:
    variable = tf.Variable(1.0, use_resource=False)
    change = tf.assign(variable, 9.0)
    first, second = tf.Session(), tf.Session()
    for sess in (first, second):
        sess.run(variable.initializer)
    first.run(change)
    return first.run(variable), second.run(variable)


@behaviour(20)
def sessions_keep_shared_queues_apart(tf: Any) -> Any:
    queue = tf.FIFOQueue(3, tf.float32, shared_name="shared")
    add, size = queue.enqueue(1.0), queue.size()
    first, second = tf.Session(), tf.Session()
    first.run(add)
    return first.run(size), second.run(size)


def _metadata(tf: Any, version: int) -> Any:
    config = tf.ConfigProto()
    config.experimental.session_metadata.name = "twice"
    config.experimental.session_metadata.version = version
    return config


@behaviour(23, "A session with the same name and version has already been created")
def the_same_name_and_version_twice(tf: Any) -> Any:
    with tf.Session(config=_metadata(tf, 1)):
        return tf.Session(config=_metadata(tf, 1))


@behaviour(23, "Session version shouldn't be negative")
def a_negative_version(tf: Any) -> Any:
    return tf.Session(config=_metadata(tf, -1))


@behaviour(23)
def a_name_is_free_after_its_session(tf: Any) -> Any:
    one = tf.constant(1)
    for _ in range(2):
        with tf.Session(config=_metadata(tf, 2)) as sess:
            found = sess.run(one)
    return found


@behaviour(24)
def metadata_goes_into_run_metadata(tf: Any) -> Any:
    config = tf.ConfigProto()
    config.experimental.session_metadata.name = "told"
    config.experimental.session_metadata.version = 3
    metadata = tf.RunMetadata()
    with tf.Session(config=config) as sess:
        sess.run(
            tf.constant(1) + 1,
            options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE),
            run_metadata=metadata,
        )
    return metadata.session_metadata.name, metadata.session_metadata.version


@behaviour(72)
def a_graph_grows_between_runs(tf: Any) -> Any:
    one = tf.constant(1)
    sess = tf.Session()
    return sess.run(one), sess.run(one + 1)


@behaviour(76)
def an_attribute_changed_after_a_run(tf: Any) -> Any:
    one = tf.constant(1.0)
    two = one + 1
    sess = tf.Session()
    before = sess.run(two)
    one.op._set_attr("value", tf.AttrValue(tensor=tf.make_tensor_proto(5.0)))
    return before, sess.run(two)


@behaviour(77, "Graph is finalized and cannot be modified.")
def an_op_after_finalize(tf: Any) -> Any:
    tf.get_default_graph().finalize()
    return tf.constant(2)


@behaviour(77)
def a_session_after_finalize(tf: Any) -> Any:
    one = tf.constant(1) + 1
    sess = tf.Session()
    tf.get_default_graph().finalize()
    return sess.run(one)


@behaviour(78)
def a_static_graph_grows_from_python(tf: Any) -> Any:
    config = tf.ConfigProto()
    config.experimental.optimize_for_static_graph = True
    one = tf.constant(1)
    sess = tf.Session(config=config)
    return sess.run(one), sess.run(one + 1)


@behaviour(84, "GraphDef min consumer version")
def a_graph_from_the_future(tf: Any) -> Any:
    message = tf.GraphDef()
    message.versions.producer = message.versions.min_consumer = 99999
    return tf.import_graph_def(message)


@behaviour(200, "Session has been closed.")
def reset_closes_sessions(tf: Any) -> Any:
    variable = tf.Variable(1.0, use_resource=False)
    sess = tf.Session()
    sess.run(variable.initializer)
    tf.Session.reset("")
    return sess.run(variable)


@behaviour(202)
def queues_of_one_shared_name(tf: Any) -> Any:
    first = tf.FIFOQueue(3, tf.float32, shared_name="shared")
    second = tf.FIFOQueue(3, tf.float32, shared_name="shared")
    sess = tf.Session()
    sess.run(first.enqueue(1.0))
    return sess.run(second.size())


@behaviour(202, "Shared queue 'shared' has capacity 3 but requested capacity was 4")
def queues_of_one_shared_name_that_differ(tf: Any) -> Any:
    first = tf.FIFOQueue(3, tf.float32, shared_name="shared")
    second = tf.FIFOQueue(4, tf.float32, shared_name="shared")
    sess = tf.Session()
    sess.run(first.enqueue(1.0))
    return sess.run(second.size())


@behaviour(202)
def variables_of_one_shared_name(tf: Any) -> Any:
    first, second = (
        tf.raw_ops.VariableV2(shape=[], dtype=tf.float32, shared_name="shared") for _ in range(2)
    )
    other = tf.raw_ops.VariableV2(shape=[], dtype=tf.float32, shared_name="shared", container="c")
    sess = tf.Session()
    sess.run([tf.assign(first, 3.0), tf.assign(other, 4.0)])
    return sess.run([second, other])


@behaviour(204)
def containers_nest(tf: Any) -> Any:
    with tf.container("outer"):
        first = tf.FIFOQueue(1, tf.float32)
        with tf.container("inner"):
            second = tf.FIFOQueue(1, tf.float32)
    return [queue.queue_ref.op.get_attr("container") for queue in (first, second)]


@behaviour(235, "No session factory registered for the given session options: {target: ")
def an_unknown_target(tf: Any) -> Any:
    return tf.Session("zzz://x")


@behaviour(241)
def runs_in_threads_keep_their_values(tf: Any) -> Any:
    number = tf.placeholder(tf.float32)
    double = number * 2
    sess = tf.Session()
    right: list[bool] = []

    def run(value: float) -> None:
        right.extend(bool(sess.run(double, {number: value}) == 2 * value) for _ in range(25))

    threads = [threading.Thread(target=run, args=(float(k),)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return all(right), len(right)
