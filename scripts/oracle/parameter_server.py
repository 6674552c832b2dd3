"""Train a model on a parameter server and workers: four processes of tfnb, of TensorFlow, or mixed.

``python scripts/oracle/parameter_server.py TENSORFLOW`` names a Python that has TensorFlow. The
script of a task (``main_of_task``) is written as such scripts were for TensorFlow 1 and is the same
for both libraries: between-graph replication, a chief that writes checkpoints, asynchronous steps.
In each row of the output a worker is killed in the middle and started again.
"""

from __future__ import annotations

import argparse
import ast
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from typing import Any

import numpy as np
from two_libraries import library, unused_ports

# The library of the parameter server, the chief and two more workers.
CLUSTERS = {
    "tensorflow": ("tensorflow",) * 4,
    "tfnb": ("tfnb",) * 4,
    "parameter server of TensorFlow, workers of tfnb": ("tensorflow", "tfnb", "tfnb", "tfnb"),
    "parameter server of tfnb, workers of TensorFlow": (
        *("tfnb", "tensorflow", "tensorflow", "tensorflow"),
    ),
    "chief of TensorFlow, workers of both": ("tfnb", "tensorflow", "tfnb", "tensorflow"),
}
STEPS, KILLED_AT = 400, 100


def digits(seed: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return 256 noisy pictures of ten classes, 28 by 28, and their classes."""
    shapes = np.random.default_rng(0).standard_normal((10, 784))
    rng = np.random.default_rng(seed)
    classes = rng.integers(0, 10, 256)
    pictures = shapes[classes] + rng.standard_normal((256, 784))
    return pictures.astype(np.float32), classes


def main_of_task(tf: Any, spec: dict[str, list[str]], job: str, index: int, folder: str) -> None:
    """Be one task: serve variables for ever, or train until the last step."""
    cluster = tf.train.ClusterSpec(spec)
    server = tf.train.Server(cluster, job_name=job, task_index=index)
    if job == "ps":
        print("up", flush=True)
        server.join()
        return
    setter = tf.train.replica_device_setter(
        worker_device=f"/job:worker/task:{index}", cluster=cluster
    )
    with tf.device(setter):
        images = tf.placeholder(tf.float32, [None, 784])
        labels = tf.placeholder(tf.int64, [None])
        weights = tf.get_variable(
            "weights", [784, 10], initializer=tf.truncated_normal_initializer(stddev=0.05)
        )
        biases = tf.get_variable("biases", [10], initializer=tf.zeros_initializer())
        logits = tf.matmul(images, weights) + biases
        loss = tf.reduce_mean(
            tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
        )
        step = tf.train.get_or_create_global_step()
        train = tf.train.AdagradOptimizer(0.02).minimize(loss, global_step=step)
    filters = ["/job:ps", f"/job:worker/task:{index}"]
    with tf.train.MonitoredTrainingSession(
        master=server.target,
        is_chief=index == 0,
        checkpoint_dir=folder,
        save_checkpoint_secs=1,
        hooks=[tf.train.StopAtStepHook(last_step=STEPS)],
        config=tf.ConfigProto(device_filters=filters),
        log_step_count_steps=None,
    ) as session:
        seed = index
        while not session.should_stop():
            seed += 10
            pictures, classes = digits(seed)
            fed = {images: pictures, labels: classes}
            now, at, _ = session.run([loss, step, train], fed)
            print(f"step {at} loss {now:.4f}", flush=True)


# -- the processes ---------------------------------------------------------------------------------


_STEP = re.compile(r"step (\d+) loss ([\d.]+)")


def run_cluster(pythons: dict[str, str], libraries: tuple[str, ...]) -> str:
    """Train with four processes, of which one worker is killed and started again; return a line."""
    addresses = [f"localhost:{port}" for port in unused_ports(4)]
    spec = {"ps": addresses[:1], "worker": addresses[1:]}
    folder = tempfile.mkdtemp()

    def start(kind: str, job: str, index: int) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [pythons[kind], __file__, "--task", kind, repr(spec), job, str(index), folder],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    server = start(libraries[0], "ps", 0)
    workers = [start(kind, "worker", index) for index, kind in enumerate(libraries[1:])]
    try:
        last = workers[-1]
        assert last.stdout is not None
        first_loss = 0.0
        for line in last.stdout:
            found = _STEP.match(line)
            if found is not None:
                first_loss = first_loss or float(found[2])
                if int(found[1]) >= KILLED_AT:
                    break
        last.send_signal(signal.SIGKILL)
        last.wait()
        workers[-1] = start(libraries[-1], "worker", len(workers) - 1)
        ends = [worker.communicate(timeout=240) for worker in workers]
        for worker, (_, errors) in zip(workers, ends):
            if worker.returncode:
                return f"a worker ended with {worker.returncode}: {errors[-600:]}"
        steps = [_STEP.findall(out) for out, _ in ends]
        of_restarted = [int(one) for one, _ in steps[-1]]
        losses = [float(found[-1][1]) for found in steps if found]
        at = of_restarted[0] if of_restarted else "no step"
        return f"loss {first_loss:.2f} -> {min(losses):.3f}; the restarted worker began at {at}"
    finally:
        for process in [server, *workers]:
            process.kill()
            process.wait()
        shutil.rmtree(folder, ignore_errors=True)


def main() -> None:
    """Train with each cluster, or be a task of one."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tensorflow", nargs="?", help="a Python that has TensorFlow")
    parser.add_argument("--task", nargs=5, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.task:
        kind, spec, job, index, folder = args.task
        main_of_task(library(kind), ast.literal_eval(spec), job, int(index), folder)
        return
    pythons = {"tensorflow": args.tensorflow, "tfnb": sys.executable}
    for name, libraries in CLUSTERS.items():
        print(f"{name}: {run_cluster(pythons, libraries)}", flush=True)


if __name__ == "__main__":
    main()
