"""How long a step continues after Ctrl-C, for every kind of step.

    python benchmarks/interrupts.py [--count N] [name ...]

A thread sends this process SIGINT while the main thread is inside of ``run``. The time until
``run`` raises ``KeyboardInterrupt`` is printed: the median and the longest of N times, in
milliseconds. The exit status says whether all stayed below 200 ms.

On two cores that other processes used as well (Python 3.11):

    blocked_dequeue              0.5     1.0
    infinite_loop                0.3     0.4
    waiting_recv                 0.4     0.6
    function_body                0.3     3.4
    waiting_function_body        0.4     2.0
    partial_run                  0.5     0.5
    pool_kernel                  7.4    10.1
    barrier                      0.5     0.8
    long_chain                   7.7    16.1
"""

from __future__ import annotations

import argparse
import signal
import statistics
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

import tfnb as tf
from tfnb.framework.functions.function import Defun

if TYPE_CHECKING:
    from collections.abc import Callable

LIMIT_S = 0.2
_CPU = "/job:localhost/replica:0/task:0/device:CPU:0"


def blocked_dequeue() -> Any:
    """Return a dequeue from a queue that stays empty."""
    dequeue = tf.FIFOQueue(1, tf.float32).dequeue()
    return lambda sess: sess.run(dequeue)


def infinite_loop() -> Any:
    """Return an endless while_loop."""
    i = tf.while_loop(lambda i: i < 2, lambda i: i * 1, [tf.constant(1)])
    return lambda sess: sess.run(i)


def waiting_recv() -> Any:
    """Return a Recv without a Send."""
    graph_def = tf.GraphDef()
    node = graph_def.node.add(name="orphan", op="_Recv")
    node.attr["tensor_type"].type = tf.float32.as_datatype_enum
    node.attr["tensor_name"].s = b"t"
    node.attr["send_device"].s = node.attr["recv_device"].s = _CPU.encode()
    node.attr["send_device_incarnation"].i = 1
    (received,) = tf.import_graph_def(graph_def, return_elements=["orphan:0"], name="")
    return lambda sess: sess.run(received)


def function_body() -> Any:
    """Return an endless loop inside of a function that is not inlined."""

    @Defun(tf.int32, noinline=True)
    def endless(i: Any) -> Any:
        return tf.while_loop(lambda i: i < 2, lambda i: i * 1, [i])

    out = endless(tf.constant(1))
    return lambda sess: sess.run(out)


def waiting_function_body() -> Any:
    """Return a function that waits for a queue."""
    queue = tf.FIFOQueue(1, tf.float32, shared_name="q")
    reference = queue.queue_ref

    @Defun(tf.resource, noinline=True)
    def take(handle: Any) -> Any:
        return tf.raw_ops.QueueDequeueV2(handle=handle, component_types=[tf.float32])[0]

    out = take(reference)
    return lambda sess: sess.run(out)


def partial_run() -> Any:
    """Return a partial run whose fetch waits for a queue."""
    x = tf.placeholder(tf.float32, [])
    y = tf.FIFOQueue(1, tf.float32).dequeue() + x

    def run(sess: Any) -> Any:
        handle = sess.partial_run_setup([y], [x])
        return sess.partial_run(handle, y, {x: 1.0})

    return run


def pool_kernel() -> Any:
    """Return Python functions that sleep briefly, repeatedly, in threads of a pool."""

    def nap(i: int) -> int:
        time.sleep(0.01)
        return i

    def body(i: Any) -> Any:
        found = tf.py_func(nap, [i], tf.int32)
        found.set_shape([])
        return found

    i = tf.while_loop(lambda i: i < 2, body, [tf.constant(1)])
    return lambda sess: sess.run(i)


def barrier() -> Any:
    """Return a take from a barrier without complete elements."""
    taken = tf.raw_ops.BarrierTakeMany(
        handle=tf.raw_ops.Barrier(component_types=[tf.float32], shapes=[[]]),
        num_elements=1,
        component_types=[tf.float32],
    )
    return lambda sess: sess.run(taken)


def long_chain() -> Any:
    """Return a chain of products of matrices."""
    x = tf.placeholder(tf.float32, [300, 300])
    y = x
    for _ in range(2000):
        y = tf.matmul(y, x)
    value = [[0.0] * 300] * 300
    return lambda sess: sess.run(y[0, 0], {x: value})


CASES = {
    one.__name__: one
    for one in (
        blocked_dequeue,
        infinite_loop,
        waiting_recv,
        function_body,
        waiting_function_body,
        partial_run,
        pool_kernel,
        barrier,
        long_chain,
    )
}


def seconds_to_stop(build: Callable[[], Any], delay_s: float) -> float:
    """Return how long ``run`` continues after an interrupt ``delay_s`` after its begin."""
    sent_at = 0.0

    def send() -> None:
        nonlocal sent_at
        time.sleep(delay_s)
        sent_at = time.perf_counter()
        main = threading.main_thread().ident
        assert main is not None
        signal.pthread_kill(main, signal.SIGINT)

    config = tf.ConfigProto(use_per_session_threads=build is pool_kernel)
    with tf.Graph().as_default(), tf.Session(config=config) as sess:
        run = build()
        sess.run(tf.constant(0))
        thread = threading.Thread(target=send)
        thread.start()
        try:
            run(sess)
        except KeyboardInterrupt:
            stopped_at = time.perf_counter()
        else:
            raise AssertionError(f"{build.__name__} ended by itself")
        finally:
            thread.join()
        assert sess.run(tf.constant(3)) == 3
    return stopped_at - sent_at


def main(arguments: list[str]) -> int:
    """Measure; return 0 if all times are below the limit."""
    parser = argparse.ArgumentParser(prog="python benchmarks/interrupts.py")
    parser.add_argument("names", nargs="*", help=f"of {', '.join(CASES)}")
    parser.add_argument("--count", type=int, default=10)
    options = parser.parse_args(arguments)
    longest = 0.0
    for name in options.names or CASES:
        # The interrupts arrive at different moments.
        times = [
            seconds_to_stop(CASES[name], 0.1 + 0.007 * number) for number in range(options.count)
        ]
        longest = max(longest, *times)
        middle = statistics.median(times)
        print(f"    {name:24}{middle * 1e3:8.1f}{max(times) * 1e3:8.1f}", flush=True)
    return int(longest >= LIMIT_S)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
