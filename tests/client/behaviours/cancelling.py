"""Time-outs, and what goes on after errors."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from tests.client.behaviours.writing import behaviour, several_cpus


def _blocked(tf: Any) -> Any:
    return tf.FIFOQueue(1, tf.float32).dequeue()


@behaviour(189, "Timed out waiting for notification")
def a_session_with_a_time_out(tf: Any) -> Any:
    return tf.Session(config=tf.ConfigProto(operation_timeout_in_ms=50)).run(_blocked(tf))


@behaviour(189, "Timed out waiting for notification")
def a_run_with_a_time_out(tf: Any) -> Any:
    return tf.Session().run(_blocked(tf), options=tf.RunOptions(timeout_in_ms=50))


@behaviour(191)
def a_queue_after_a_time_out(tf: Any) -> Any:
    queue = tf.FIFOQueue(2, tf.float32)
    add, take, size = queue.enqueue(3.0), queue.dequeue(), queue.size()
    sess = tf.Session()
    timed_out = []
    for op, num_inside in ((take, 0), ([add, queue.enqueue(3.0), queue.enqueue(3.0)], 2)):
        found = None
        for limit in (50, 500, 5000, 50_000):  # a busy machine may not have begun in the first one
            try:
                sess.run(op, options=tf.RunOptions(timeout_in_ms=limit))
            except tf.errors.DeadlineExceededError as error:
                found = type(error)
            if sess.run(size) == num_inside:
                break
        timed_out.append(found)
    return timed_out, sess.run(size), sess.run([take, take]), sess.run(size)


@behaviour(193, "bad : Tensor had NaN")
def the_first_error_wins(tf: Any) -> Any:
    failing = tf.check_numerics(tf.placeholder_with_default(np.float32(np.nan), []), "bad")
    with tf.device("/cpu:1"):
        waiting = _blocked(tf)
    return tf.Session(config=several_cpus(tf)).run([failing, waiting])


@behaviour(198)
def a_dequeue_waits_for_an_enqueue_of_its_run(tf: Any) -> Any:
    queue = tf.FIFOQueue(1, tf.float32)
    both = [queue.dequeue(), queue.enqueue(2.0)]
    one_thread = tf.ConfigProto(
        inter_op_parallelism_threads=1, use_per_session_threads=True, operation_timeout_in_ms=30000
    )
    in_caller = tf.RunOptions(inter_op_thread_pool=-1, timeout_in_ms=30000)
    return tf.Session(config=one_thread).run(both), tf.Session().run(both, options=in_caller)


@behaviour(199, "is closed and has insufficient elements (requested 1, current size 0)")
def a_dequeue_from_a_closed_queue(tf: Any) -> Any:
    queue = tf.FIFOQueue(1, tf.float32)
    take, close = queue.dequeue(), queue.close()
    sess = tf.Session()
    sess.run(close)
    return sess.run(take)


@behaviour(199, "is closed.")
def an_enqueue_to_a_closed_queue(tf: Any) -> Any:
    queue = tf.FIFOQueue(1, tf.float32)
    add, close = queue.enqueue(1.0), queue.close()
    sess = tf.Session()
    sess.run(close)
    return sess.run(add)


@behaviour(203)
def a_queue_is_named_after_its_node(tf: Any) -> Any:
    queue = tf.FIFOQueue(1, tf.float32, name="mine")
    take, close = queue.dequeue(), queue.close()
    sess = tf.Session()
    sess.run(close)
    try:
        sess.run(take)
    except tf.errors.OutOfRangeError as error:
        text = str(error)
        start = text.index("FIFOQueue '_")
        return text[start:].partition("'")[2].partition("'")[0].lstrip("_0123456789")


@behaviour(75)
def a_graph_grows_while_a_step_waits(tf: Any) -> Any:
    started = threading.Event()
    queue = tf.FIFOQueue(1, tf.float32)

    def tell() -> Any:
        started.set()
        return np.float32(0)

    with tf.control_dependencies([tf.py_func(tell, [], tf.float32)]):
        take = queue.dequeue()
    add = queue.enqueue(1.0)
    sess = tf.Session()
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(sess.run(take)))
    thread.start()
    assert started.wait(60)
    grown = sess.run(tf.constant(4.0) + 1)
    sess.run(add)
    thread.join(60)
    return grown, found


def _asked_which_thread(tf: Any, **options: Any) -> bool:
    ask = tf.py_func(lambda: np.int64(threading.get_ident()), [], tf.int64)
    found = tf.Session().run(ask, options=tf.RunOptions(**options))
    return bool(found == threading.get_ident())


@behaviour(221)
def the_calling_thread_on_request(tf: Any) -> Any:
    return _asked_which_thread(tf, inter_op_thread_pool=-1)


@behaviour(221, "Invalid inter_op_thread_pool: 5")
def a_pool_that_is_not_there(tf: Any) -> Any:
    return _asked_which_thread(tf, inter_op_thread_pool=5)


def _pools(tf: Any, *pools: tuple[str, int]) -> Any:
    config = tf.ConfigProto()
    for name, count in pools:
        config.session_inter_op_thread_pool.add(global_name=name, num_threads=count)
    return config


@behaviour(221)
def a_pool_by_number(tf: Any) -> Any:
    one = tf.constant(1) + 1
    sess = tf.Session(config=_pools(tf, ("", 1), ("", 2)))
    return [sess.run(one, options=tf.RunOptions(inter_op_thread_pool=k)) for k in (0, 1, -1)]


@behaviour(224)
def a_global_pool_of_two_sizes_from_python(tf: Any) -> Any:
    one = tf.constant(1)
    return [tf.Session(config=_pools(tf, ("of two sizes", count))).run(one) for count in (1, 2)]


@behaviour(225)
def threads_of_a_sessions_own(tf: Any) -> Any:
    return tf.Session(config=tf.ConfigProto(use_per_session_threads=True)).run(tf.constant(1) + 1)
