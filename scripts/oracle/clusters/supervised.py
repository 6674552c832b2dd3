"""Train replicas in step, and under supervisors, on clusters of tfnb, of TensorFlow and of both.

``python scripts/oracle/clusters/supervised.py TENSORFLOW`` names a Python that has TensorFlow. A
cluster has two parameter servers and two workers, in processes of their own. The programs are the
same text for both libraries: ``SyncReplicasOptimizer`` in a ``MonitoredTrainingSession``, and
``Supervisor`` with a checkpoint of variables on both servers that a second chief goes on from. Each
runs twice: the chief starts first, or the other worker does.
"""

from __future__ import annotations

import argparse
import ast
import itertools
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from two_libraries import library, unused_ports

# The libraries of two parameter servers, the chief and the other worker.
CLUSTERS = {
    "tensorflow": ("tensorflow",) * 4,
    "tfnb": ("tfnb",) * 4,
    "servers of TensorFlow, workers of tfnb": ("tensorflow", "tensorflow", "tfnb", "tfnb"),
    "servers of tfnb, workers of TensorFlow": ("tfnb", "tfnb", "tensorflow", "tensorflow"),
    "one of each": ("tfnb", "tensorflow", "tfnb", "tensorflow"),
}
STEPS = 30
# A worker that trains for longer hangs, on a machine with other work, too.
PATIENCE_S = 240.0


class Model:
    """A line through points, whose variables are on the parameter servers in turn."""

    def __init__(self, tf: Any, cluster: Any, index: int, *, in_step: bool) -> None:
        setter = tf.train.replica_device_setter(
            worker_device=f"/job:worker/task:{index}", cluster=cluster
        )
        with tf.device(setter):
            x = tf.constant(np.linspace(-1, 1, 8, dtype=np.float32))
            slope = tf.get_variable("slope", initializer=0.0)
            offset = tf.get_variable("offset", initializer=0.0)
            self.loss = tf.reduce_mean(tf.square(slope * x + offset - (3.0 * x + 1.0)))
            self.step = tf.train.get_or_create_global_step()
            optimizer = tf.train.GradientDescentOptimizer(0.1)
            if in_step:
                optimizer = tf.train.SyncReplicasOptimizer(optimizer, 2, 2)
            self.optimizer = optimizer
            self.train = optimizer.minimize(self.loss, global_step=self.step)


def replicas(tf: Any, cluster: Any, target: str, index: int, folder: str) -> None:
    """Train in step with the other worker until the last step."""
    model = Model(tf, cluster, index, in_step=True)
    is_chief = index == 0
    # A worker that begins late would find no token: the other one could do all steps alone.
    with tf.device("/job:ps/task:0"):
        present = tf.FIFOQueue(2, tf.int32, shapes=[[]], shared_name="present")
        come, num_present = present.enqueue(index), present.size()
    if not is_chief:  # the creator of a monitored session would look again after 30 s only
        ready = tf.report_uninitialized_variables(tf.global_variables())
        manager = tf.train.SessionManager(ready_op=ready, recovery_wait_secs=0.2)
        manager.wait_for_session(target).close()
    hooks = [
        model.optimizer.make_session_run_hook(is_chief),
        tf.train.StopAtStepHook(last_step=STEPS),
    ]
    with tf.train.MonitoredTrainingSession(
        master=target,
        is_chief=is_chief,
        hooks=hooks,
        stop_grace_period_secs=3,
        log_step_count_steps=None,
    ) as session:
        session.run_step_fn(lambda step_context: step_context.session.run(come))
        while session.run_step_fn(lambda step_context: step_context.session.run(num_present)) < 2:
            time.sleep(0.05)
        while not session.should_stop():
            loss, step, _ = session.run([model.loss, model.step, model.train])
            print(f"step {step} loss {loss:.4f}", flush=True)


def supervised(tf: Any, cluster: Any, target: str, index: int, folder: str) -> None:
    """Train beside the other worker, without waiting for it; the chief saves at its end."""
    model = Model(tf, cluster, index, in_step=False)
    supervisor = tf.train.Supervisor(
        is_chief=index == 0,
        logdir=folder if index == 0 else None,
        summary_op=None,
        global_step=model.step,
        recovery_wait_secs=0.2,
        stop_grace_secs=3,
    )
    # A second chief is alone: a session without filters would wait for the other worker.
    filters = ["/job:ps", f"/job:worker/task:{index}"]
    config = tf.ConfigProto(device_filters=filters)
    with supervisor.managed_session(target, config=config) as session:
        for _ in range(STEPS):
            loss, step, _ = session.run([model.loss, model.step, model.train])
            print(f"step {step} loss {loss:.4f}", flush=True)
        if index == 0:
            supervisor.saver.save(session, supervisor.save_path, global_step=model.step)


PROGRAMS = {"replicas": replicas, "supervised": supervised}


def main_of_task(tf: Any, program: str, spec: Any, job: str, index: int, folder: str) -> None:
    """Be one task: serve for ever, or train."""
    # The variables of TensorFlow 1, in both libraries, so that all workers share them.
    tf.disable_resource_variables()
    cluster = tf.train.ClusterSpec(spec)
    server = tf.train.Server(cluster, job_name=job, task_index=index)
    print("up", flush=True)
    if job == "worker":
        PROGRAMS[program](tf, cluster, server.target, index, folder)
        print("done", flush=True)
        # The other worker's master asks this task, perhaps only now, until both have ended.
        sys.stdin.read()
    else:
        server.join()


# -- the processes ---------------------------------------------------------------------------------

_STEP = re.compile(r"step (\d+) loss ([\d.]+)")


def _output_of(worker: subprocess.Popen[str]) -> str:
    """Return what a worker prints until it has trained, or has failed."""
    assert worker.stdout is not None
    lines = iter(worker.stdout.readline, "")
    return "".join(itertools.takewhile(lambda line: line != "done\n", lines))


class Processes:
    """The four processes of a cluster."""

    def __init__(self, pythons: dict[str, str], libraries: tuple[str, ...], program: str) -> None:
        self._pythons, self._libraries, self._program = pythons, libraries, program
        self._folder = tempfile.mkdtemp()
        addresses = [f"localhost:{port}" for port in unused_ports(4)]
        self._spec = {"ps": addresses[:2], "worker": addresses[2:]}
        self._tasks = [("ps", 0), ("ps", 1), ("worker", 0), ("worker", 1)]
        self._running: dict[int, subprocess.Popen[str]] = {}

    def start(self, number: int) -> subprocess.Popen[str]:
        """Start a task and wait until it is up."""
        kind, (job, index) = self._libraries[number], self._tasks[number]
        task = [self._program, kind, repr(self._spec), job, str(index), self._folder]
        process = subprocess.Popen(
            [self._pythons[kind], __file__, "--task", *task],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors_of(number).open("w"),
            text=True,
        )
        self._running[number] = process
        assert process.stdout is not None
        process.stdout.readline()
        return process

    def train(self, order: tuple[int, ...]) -> list[list[tuple[str, str]]]:
        """Start tasks in an order; return steps and losses of the workers among them.

        Raises:
          RuntimeError: a worker failed, or did not end.
        """
        workers = {one: self.start(one) for one in order}
        readers = ThreadPoolExecutor(len(workers))
        outputs = {one: readers.submit(_output_of, worker) for one, worker in workers.items()}
        readers.shutdown(wait=False)
        found: dict[int, list[tuple[str, str]]] = {}
        for number in sorted(workers):
            try:
                found[number] = _STEP.findall(outputs[number].result(PATIENCE_S))
            except TimeoutError:
                raise RuntimeError(f"worker {number - 2} did not end") from None
        for number, worker in workers.items():
            assert worker.stdin is not None
            worker.stdin.close()
            if worker.wait(PATIENCE_S):
                text = self._errors_of(number).read_text(errors="replace")
                raise RuntimeError(f"worker {number - 2} failed: {text[-2000:]}")
        return [found[number] for number in sorted(found)]

    def _errors_of(self, number: int) -> Path:
        return Path(self._folder) / f"errors{number}.txt"

    def stop(self) -> None:
        """End all."""
        for process in self._running.values():
            process.kill()
            process.wait()
        self._running.clear()

    def close(self) -> None:
        """End all and remove the checkpoints."""
        self.stop()
        shutil.rmtree(self._folder, ignore_errors=True)


def run_program(
    pythons: dict[str, str], libraries: tuple[str, ...], program: str, order: tuple[int, ...]
) -> str:
    """Run a program on a cluster; return what it did."""
    processes = Processes(pythons, libraries, program)
    try:
        for server in (0, 1):
            processes.start(server)
        chief, other = processes.train(order)
        result = f"loss {chief[0][1]} -> {min(chief[-1][1], other[-1][1])}"
        if program == "supervised":
            processes.stop()
            for server in (0, 1):
                processes.start(server)
            (again,) = processes.train((2,))
            result += f"; a new chief begins at step {again[0][0]} with {again[0][1]}"
        return result
    except RuntimeError as error:
        return f"FAILED: {error}"
    finally:
        processes.close()


def main() -> None:
    """Run all programs on all clusters, or be a task of one."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tensorflow", nargs="?", help="a Python that has TensorFlow")
    parser.add_argument("--only", default="", metavar="TEXT", help="clusters with TEXT in the name")
    parser.add_argument("--task", nargs=6, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.task:
        program, kind, spec, job, index, folder = args.task
        task = program, ast.literal_eval(spec), job, int(index), folder
        main_of_task(library(kind), *task)
        return
    pythons = {"tensorflow": args.tensorflow, "tfnb": sys.executable}
    for name, libraries in CLUSTERS.items():
        if args.only not in name:
            continue
        for program in PROGRAMS:
            for who, order in (("the chief", (2, 3)), ("the other worker", (3, 2))):
                result = run_program(pythons, libraries, program, order)
                print(f"{name} | {program}, {who} first | {result}", flush=True)


if __name__ == "__main__":
    main()
