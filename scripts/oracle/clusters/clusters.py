"""Run the same programs on clusters of tfnb, of TensorFlow and of both; report what differs.

``python scripts/oracle/clusters/clusters.py TENSORFLOW`` names a Python that has TensorFlow. Each
cluster has one parameter server and two workers in processes of their own; each program is run by a
client of tfnb and by one of TensorFlow. The answers of TensorFlow's client on TensorFlow's cluster
count.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from typing import Any

from two_libraries import main_of, unused_ports

# A cluster: the library of its parameter server, of worker 0 and of worker 1.
CLUSTERS = {
    "tensorflow": ("tensorflow", "tensorflow", "tensorflow"),
    "tfnb": ("tfnb", "tfnb", "tfnb"),
    "tfnb master, TensorFlow workers": ("tensorflow", "tfnb", "tensorflow"),
    "TensorFlow master, tfnb workers": ("tfnb", "tensorflow", "tfnb"),
    "tfnb joins as a worker": ("tensorflow", "tensorflow", "tfnb"),
    "TensorFlow joins as parameter server of tfnb": ("tensorflow", "tfnb", "tfnb"),
}
# The environment's variable with the addresses of two tasks; that of the target is the first.
_ADDRESSES = "ADDRESSES"
PS, WORKER, OTHER = "/job:ps/task:0", "/job:worker/task:0", "/job:worker/task:1"


# -- programs: each prints lines that both libraries print alike -----------------------------------


def say(name: str, run: Any) -> None:
    """Print what a call returns, or its error's class and the last part of its first lines."""
    try:
        print(name, _plain(run()), flush=True)
    except Exception as error:
        print(name, type(error).__name__, flush=True)


def _plain(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, bytes | str) or value is None:
        return value
    return value.tolist() if hasattr(value, "tolist") else value


def programs(tf: Any, target: str) -> None:
    """Run all programs on a target."""
    with tf.device(PS):
        v = tf.get_variable("v", [3], initializer=tf.ones_initializer(), use_resource=False)
        r = tf.get_variable("r", [3], initializer=tf.ones_initializer(), use_resource=True)
        queue = tf.FIFOQueue(3, [tf.float32], shapes=[[]])
        put = queue.enqueue(4.0)
    x = tf.placeholder(tf.float32, [None], name="x")
    with tf.device(WORKER):
        y = x * v + r
        taken = queue.dequeue() * 2
    with tf.device(OTHER):
        z = tf.reduce_sum(y)
        text = tf.strings.join(["a", tf.as_string(z)])

    def body(i: Any, a: Any) -> Any:
        with tf.device(PS):
            doubled = a * 2.0
        with tf.device(OTHER):
            more = doubled + 1.0
        return i + 1, more

    def inner(i: Any, a: Any) -> Any:
        return i + 1, tf.while_loop(lambda j, _: j < 3, body, [0, a])[1]

    with tf.device(WORKER):
        loop = tf.while_loop(lambda i, _: i < 10, body, [0, z])
        nested = tf.while_loop(lambda i, _: i < 3, inner, [0, z])
        chosen = tf.cond(z > 5.0, lambda: z + 1.0, lambda: body(0, z)[1])
        bad = tf.gather(tf.constant([1.0, 2.0]), tf.placeholder_with_default(9, []))
    add = tf.assign_add(v, [1.0, 1.0, 1.0])
    loss = tf.reduce_sum(tf.square(v * x - r))
    train = tf.train.GradientDescentOptimizer(0.1).minimize(loss, var_list=[v, r])
    saver = tf.train.Saver()
    fed = {x: [1, 2, 3]}
    folder = tempfile.mkdtemp()
    with tf.Session(target) as sess:
        say("devices", lambda: sorted(device.name for device in sess.list_devices()))
        say("initialize", lambda: sess.run(tf.global_variables_initializer()))
        say("spans tasks", lambda: sess.run([y, z, text], fed))
        say("loop", lambda: sess.run(loop, fed))
        say("nested loops", lambda: sess.run(nested, fed))
        say("cond, true", lambda: sess.run(chosen, fed))
        say("cond, false", lambda: sess.run(chosen, {x: [0, 0, 0]}))
        say("assign", lambda: sess.run(add))
        say("enqueue", lambda: sess.run(put))
        say("dequeue", lambda: sess.run(taken))
        say("not fed", lambda: sess.run(z))
        say("out of range", lambda: sess.run(bad))
        say("after errors", lambda: sess.run(y, fed))
        say("save", lambda: bool(saver.save(sess, f"{folder}/m", write_meta_graph=False)))
        for _ in range(3):
            say("train", lambda: sess.run(train, fed))
        say("trained", lambda: [round(float(one), 4) for one in sess.run(v)])
        say("restore", lambda: saver.restore(sess, f"{folder}/m"))
        say("restored", lambda: sess.run(v))
        say("callable", lambda: sess.make_callable(y, [x])([1, 1, 1]))

        def parts() -> Any:
            handle = sess.partial_run_setup([y, z], [x])
            return [sess.partial_run(handle, y, fed), sess.partial_run(handle, z)]

        say("parts", parts)
        metadata = tf.RunMetadata()
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        say("traced", lambda: sess.run(z, fed, options=options, run_metadata=metadata))
        say("traces", lambda: sorted({one.device for one in metadata.step_stats.dev_stats}))
        waits = tf.RunOptions(timeout_in_ms=300)
        say("time-out", lambda: sess.run(queue.dequeue(), options=waits))
    with tf.Session(target) as sess:
        say("second session", lambda: sess.run(v))
    config = tf.ConfigProto(device_filters=["/job:ps"])
    with tf.Session(target, config=config) as sess:
        say("filtered", lambda: sorted(device.name for device in sess.list_devices()))
    config = tf.ConfigProto(isolate_session_state=True)
    with tf.Session(target, config=config) as sess:
        say("isolated", lambda: sess.run(v))
        say("initialize isolated", lambda: sess.run(tf.global_variables_initializer()))
        say("isolated, initialized", lambda: sess.run(v))
    config = tf.ConfigProto()
    job = config.cluster_def.job.add(name="mine")
    for index, address in enumerate(os.environ[_ADDRESSES].split()):
        job.tasks[index] = address
    with tf.Graph().as_default(), tf.device("/job:mine/task:1"):
        product = tf.constant(2.0) * 3.0
        with tf.Session(target, config=config) as sess:
            say("cluster of its own", lambda: sorted(one.name for one in sess.list_devices()))
            say("step in it", lambda: sess.run(product))
    with tf.Session(target) as sess:
        say("after isolation", lambda: sess.run(v))
    say("reset", lambda: tf.Session.reset(target))
    with tf.Session(target) as sess:
        say("after reset", lambda: sess.run(v))


# -- the comparison --------------------------------------------------------------------------------


def compare(tensorflow: str) -> int:
    """Print a line for each cluster and client; return how many differ."""
    pythons = {"tensorflow": tensorflow, "tfnb": sys.executable}
    wanted: list[str] = []
    num_different = 0
    for name, libraries in CLUSTERS.items():
        ports = unused_ports(3)
        addresses = [f"localhost:{port}" for port in ports]
        spec = {"ps": addresses[:1], "worker": addresses[1:]}
        tasks = [("ps", 0), ("worker", 0), ("worker", 1)]
        servers = [
            subprocess.Popen(
                [pythons[kind], __file__, "--serve", kind, repr(spec), job, str(index)],
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
            for kind, (job, index) in zip(libraries, tasks)
        ]
        for server in servers:
            assert server.stdout is not None
            server.stdout.readline()
        try:
            for client in ("tensorflow", "tfnb"):
                command = [pythons[client], __file__, "--client", client, f"grpc://{addresses[1]}"]
                names = os.environ | {_ADDRESSES: f"{addresses[1]} {addresses[0]}"}
                run = subprocess.run(
                    command, capture_output=True, text=True, timeout=300, env=names
                )
                found = [one for one in run.stdout.splitlines() if not one.startswith("This func")]
                wanted = wanted or found
                differs = [pair for pair in zip(wanted, found) if pair[0] != pair[1]]
                if len(found) != len(wanted):
                    differs.append((f"{len(wanted)} lines", f"{len(found)}: {run.stderr[-500:]}"))
                num_different += bool(differs)
                print(f"{name} | client {client} | {len(found)} answers, {len(differs)} differ")
                for there, here in differs:
                    print(f"    TensorFlow: {there[:200]}\n    here:       {here[:200]}")
        finally:
            for server in servers:
                server.kill()
                server.wait()
    return num_different


if __name__ == "__main__":
    sys.exit(main_of(__doc__, compare, programs, 1))
