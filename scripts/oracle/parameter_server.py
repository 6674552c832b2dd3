"""Train on a parameter server, with tasks that are killed: four processes of one library, or mixed.

``python scripts/oracle/parameter_server.py TENSORFLOW`` names a Python that has TensorFlow. The
script of a task (``main_of_task``) is written as such scripts were for TensorFlow 1 and is the same
for both libraries: between-graph replication, a chief that writes checkpoints, asynchronous steps.

Each row of the output is one training. In its middle a worker is killed and started again, which
has to continue at the step of the others. Then the parameter server is killed and started again,
with which the variables are lost; the workers have to continue at the step and the loss of the last
checkpoint. The exit status is 1 if one of the trainings does not.
"""

from __future__ import annotations

import argparse
import ast
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from two_libraries import library, unused_ports

if TYPE_CHECKING:
    from collections.abc import Callable

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
STEPS_OF_A_CHECKPOINT = 50
# A task has to do what is waited for within this time, on a busy machine too.
PATIENCE_S = 240.0
# The share of the loss's fall that training between a checkpoint and the next report may change.
TOLERANCE = 0.15


def digits(seed: int, count: int = 64) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return noisy pictures of ten classes, 28 by 28, and their classes."""
    shapes = np.random.default_rng(0).standard_normal((10, 784))
    rng = np.random.default_rng(seed)
    classes = rng.integers(0, 10, count)
    pictures = shapes[classes] + rng.standard_normal((count, 784))
    return pictures.astype(np.float32), classes


def main_of_task(tf: Any, spec: dict[str, list[str]], job: str, index: int, folder: str) -> None:
    """Be one task: serve variables for ever, or train until the training is told to stop."""
    # The variables of TensorFlow 1, in both libraries, so that all workers share them.
    tf.disable_resource_variables()
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
            "weights", [784, 10], initializer=tf.truncated_normal_initializer(stddev=0.02)
        )
        biases = tf.get_variable("biases", [10], initializer=tf.zeros_initializer())

        def loss_of(pictures: Any, classes: Any) -> Any:
            logits = tf.matmul(pictures, weights) + biases
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=classes, logits=logits)
            return tf.reduce_mean(losses)

        # The loss that is reported is always that of the same pictures.
        held_out = loss_of(*map(tf.constant, digits(seed=1)))
        step = tf.train.get_or_create_global_step()
        # Slow, so that at any time of the script there is loss left to fall.
        optimizer = tf.train.GradientDescentOptimizer(2e-6)
        train = optimizer.minimize(loss_of(images, labels), global_step=step)

    class StopWhenTold(tf.train.SessionRunHook):  # type: ignore[misc]
        """Ends the training once the file ``stop`` exists."""

        def after_run(self, run_context: Any, run_values: Any) -> None:
            if (Path(folder) / "stop").exists():
                run_context.request_stop()

    filters = ["/job:ps", f"/job:worker/task:{index}"]
    with tf.train.MonitoredTrainingSession(
        master=server.target,
        is_chief=index == 0,
        checkpoint_dir=folder,
        save_checkpoint_secs=None,
        save_checkpoint_steps=STEPS_OF_A_CHECKPOINT,
        save_summaries_steps=None,
        save_summaries_secs=None,
        hooks=[StopWhenTold()],
        config=tf.ConfigProto(device_filters=filters),
        log_step_count_steps=None,
    ) as session:
        seed = index
        while not session.should_stop():
            seed += 10
            pictures, classes = digits(seed)
            now, at, _ = session.run([held_out, step, train], {images: pictures, labels: classes})
            print(f"step {at} loss {now:.5f}", flush=True)
            time.sleep(0.02)  # the model stands for a larger one, whose steps take longer


# -- the processes ---------------------------------------------------------------------------------

_REPORT = re.compile(r"step (\d+) loss ([\d.]+)")
_CHECKPOINT = re.compile(r'^model_checkpoint_path: ".*-(\d+)"', re.MULTILINE)


class Failure(Exception):
    """A training that does not do what it should; the text says what."""


class Report(NamedTuple):
    """A line that a worker printed after a step."""

    step: int
    loss: float


class Task:
    """A process of the cluster, and what it reported."""

    def __init__(self, name: str, command: list[str]) -> None:
        self.name = name
        self.reports: list[Report] = []
        self._errors: list[str] = []
        self._is_killed = False
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self._readers = [
            threading.Thread(target=read, daemon=True) for read in (self._read, self._read_errors)
        ]
        for reader in self._readers:
            reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            found = _REPORT.match(line)
            if found is not None:
                self.reports.append(Report(int(found[1]), float(found[2])))

    def _read_errors(self) -> None:
        assert self.process.stderr is not None
        self._errors.extend(self.process.stderr)

    def kill(self) -> None:
        """End the process as a fault would, without warning."""
        self._is_killed = True
        self.process.kill()
        self.process.wait()
        for reader in self._readers:
            reader.join()

    def check_runs(self) -> None:
        """Raise Failure if the process has ended with an error by itself."""
        if self.process.poll() and not self._is_killed:
            self._readers[1].join()
            text = "".join(self._errors)[-600:]
            raise Failure(f"{self.name} ended with {self.process.returncode}: {text}")


class Cluster:
    """A parameter server and three workers that train one model."""

    def __init__(self, pythons: dict[str, str], libraries: tuple[str, ...]) -> None:
        self._pythons, self._libraries = pythons, libraries
        addresses = [f"localhost:{port}" for port in unused_ports(4)]
        self._spec = {"ps": addresses[:1], "worker": addresses[1:]}
        self._folder = Path(tempfile.mkdtemp())
        self.server = self._start("ps", 0)
        self.workers = [self._start("worker", index) for index in range(3)]

    def _start(self, job: str, index: int) -> Task:
        kind = self._libraries[index + (job == "worker")]
        command = [self._pythons[kind], __file__, "--task", kind, repr(self._spec), job, str(index)]
        return Task(f"{job} {index} ({kind})", [*command, str(self._folder)])

    def start_again(self, task: Task) -> Task:
        """Start a killed task anew."""
        if task is self.server:
            self.server = self._start("ps", 0)
            return self.server
        index = self.workers.index(task)
        self.workers[index] = self._start("worker", index)
        return self.workers[index]

    def wait(self, what: str, is_so: Callable[[], bool]) -> None:
        """Wait until something holds.

        Raises:
          Failure: a task ended with an error, or it takes too long.
        """
        until = time.monotonic() + PATIENCE_S
        while not is_so():
            for task in (self.server, *self.workers):
                task.check_runs()
            if time.monotonic() > until:
                reports = {one.name: one.reports[-1:] for one in self.workers}
                raise Failure(f"waited in vain for {what}; last reports: {reports}")
            time.sleep(0.05)

    def last_step(self) -> int:
        """Return the highest step that a worker reported."""
        return max((one.step for task in self.workers for one in task.reports), default=0)

    def checkpoint(self) -> int:
        """Return the step of the last checkpoint, 0 if there is none."""
        try:
            text = (self._folder / "checkpoint").read_text(encoding="utf-8")
        except FileNotFoundError:
            return 0
        found = _CHECKPOINT.search(text)
        return int(found[1]) if found else 0

    def stop(self) -> None:
        """Tell the workers to end, and wait until they have.

        Raises:
          Failure: a worker does not end, or ends with an error.
        """
        (self._folder / "stop").touch()
        self.wait(
            "the workers' end", lambda: all(one.process.poll() is not None for one in self.workers)
        )
        for task in self.workers:
            task.check_runs()

    def close(self) -> None:
        """End what is left and remove the files."""
        for task in (self.server, *self.workers):
            task.kill()
        shutil.rmtree(self._folder, ignore_errors=True)


def train(cluster: Cluster) -> str:
    """Train, kill a worker and the parameter server in the middle; return what happened.

    Raises:
      Failure: the training does not continue as it should.
    """
    workers = cluster.workers
    cluster.wait("steps of each worker", lambda: all(len(one.reports) > 20 for one in workers))
    cluster.wait("two checkpoints", lambda: cluster.checkpoint() >= 2 * STEPS_OF_A_CHECKPOINT)
    first = min(one for task in workers for one in task.reports)

    # A worker is killed; the others go on without it, and it joins them where they are.
    killed = workers[-1]
    killed.kill()
    seen = cluster.last_step()
    cluster.wait("steps without the worker", lambda: cluster.last_step() > seen + 20)
    again = cluster.start_again(killed)
    cluster.wait("steps of the restarted worker", lambda: len(again.reports) > 20)
    joined = again.reports[0]
    if joined.step <= seen:
        raise Failure(f"the worker was killed at step {seen} and began again at {joined.step}")

    # The parameter server is killed; its variables come back from the last checkpoint.
    cluster.server.kill()
    saved = cluster.checkpoint()
    before = [one for task in (killed, *workers) for one in task.reports]
    lost = max(one.step for one in before)
    counts = [len(task.reports) for task in workers]
    cluster.start_again(cluster.server)
    cluster.wait(
        "steps of each worker after the restart of the parameter server",
        lambda: all(len(task.reports) > old + 20 for task, old in zip(workers, counts)),
    )
    # A worker may have read its last report before the kill, but printed it after.
    back = min(task.reports[old + 1] for task, old in zip(workers, counts))
    at_save = min(before, key=lambda one: abs(one.step - saved))
    if not saved <= back.step <= saved + 4 * STEPS_OF_A_CHECKPOINT:
        raise Failure(f"the checkpoint has step {saved}, training continued at {back.step}")
    if abs(back.loss - at_save.loss) > TOLERANCE * (first.loss - at_save.loss):
        raise Failure(f"the loss was {at_save.loss} at the checkpoint, and {back.loss} afterwards")
    cluster.stop()
    last = max(one for task in workers for one in task.reports)
    if last.loss >= back.loss:
        raise Failure(f"the loss stays at {last.loss}")
    return (
        f"loss {first.loss:.3f} at the beginning. A worker killed at step {seen} joined again at "
        f"{joined.step}, loss {joined.loss:.3f}. The parameter server killed at step {lost}: "
        f"checkpoint of step {saved}, loss {at_save.loss:.3f}; continued at step {back.step}, loss "
        f"{back.loss:.3f}; loss {last.loss:.3f} at step {last.step}"
    )


def main() -> None:
    """Train with each cluster, or be a task of one."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("tensorflow", nargs="?", help="a Python that has TensorFlow")
    parser.add_argument("--only", default="", metavar="TEXT", help="clusters with TEXT in the name")
    parser.add_argument("--task", nargs=5, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.task:
        kind, spec, job, index, folder = args.task
        main_of_task(library(kind), ast.literal_eval(spec), job, int(index), folder)
        return
    pythons = {"tensorflow": args.tensorflow or "", "tfnb": sys.executable}
    if not args.tensorflow:
        print("without a Python that has TensorFlow, only the cluster of tfnb is tried")
    is_good = True
    for name, libraries in CLUSTERS.items():
        if args.only not in name or not all(pythons[one] for one in libraries):
            continue
        cluster = Cluster(pythons, libraries)
        try:
            found = train(cluster)
        except Failure as failure:
            found, is_good = f"FAILED: {failure}", False
        finally:
            cluster.close()
        print(f"{name}: {found}", flush=True)
    raise SystemExit(not is_good)


if __name__ == "__main__":
    main()
